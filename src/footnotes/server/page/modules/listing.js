/** Filters and sorts the documents of a list. */

import { kindOf } from "./words.js";

/**
 * @typedef {object} Choice
 * @property {string} words in the name, the path or a tag
 * @property {string} kind
 * @property {string} state
 * @property {string} folder including everything below it
 * @property {string[]} collections
 * @property {"name" | "collection" | "kind" | "state" | "pages" | "bytes" | "added"} by
 * @property {boolean} down
 */

/** @returns {Choice} */
export function everything() {
  return { words: "", kind: "", state: "", folder: "", collections: [], by: "added", down: true };
}

/** Characters of a path that fit below a name. */
const ROOM = 36;
const compare = new Intl.Collator(undefined, { numeric: true, sensitivity: "base" }).compare;
const VALUES = {
  name: (row) => row.filename,
  collection: (row) => row.collection,
  kind: (row) => kindOf(row.filename),
  state: (row) => row.status,
  pages: (row) => row.pages || 0,
  bytes: (row) => row.bytes,
};
/** Compare names by their places in one sorted list: a hundred thousand collator calls would be noticeable. */
const ranks = new WeakMap();

/** @param {import("./documents.js").Row[]} rows newest first @param {Choice} choice */
export function listed(rows, choice) {
  const words = choice.words.toLowerCase();
  const found = rows.filter(
    (row) =>
      (!choice.kind || kindOf(row.filename) === choice.kind) &&
      (!choice.state || row.status === choice.state) &&
      (choice.collections.length === 0 || choice.collections.includes(row.collection)) &&
      (!choice.folder || folderOf(row) === choice.folder || folderOf(row).startsWith(`${choice.folder}/`)) &&
      (!words || textOf(row).includes(words)),
  );
  return ordered(rows, found, choice);
}

function ordered(rows, found, { by, down }) {
  if (by === "added") return down ? found : found.reverse();
  const rankOf = ranking(rows, by);
  const sign = down ? -1 : 1;
  return found.sort((one, other) => sign * (rankOf.get(one) - rankOf.get(other)));
}

function ranking(rows, by) {
  const made = ranks.get(rows) || {};
  ranks.set(rows, made);
  if (made[by]) return made[by];
  const valueOf = VALUES[by];
  const distinct = [...new Set(rows.map(valueOf))];
  distinct.sort(typeof distinct[0] === "number" ? (one, other) => one - other : compare);
  const places = new Map(distinct.map((value, place) => [value, place]));
  return (made[by] = new Map(rows.map((row) => [row, places.get(valueOf(row))])));
}

const texts = new WeakMap();
function textOf(row) {
  if (!texts.has(row)) texts.set(row, `${row.filename} ${row.path} ${row.tags.join(" ")}`.toLowerCase());
  return texts.get(row);
}

const folders = new WeakMap();
/** The folder a document came from; empty if it has none. */
export function folderOf(row) {
  if (!folders.has(row)) {
    const path = row.path.replace(/^[a-z]+:\/\//, "").replace(/^\/+/, "");
    folders.set(row, path.slice(0, Math.max(0, path.lastIndexOf("/"))));
  }
  return folders.get(row);
}

/** The last part of a folder's path, which distinguishes it if space is short. */
export function shortFolder(folder) {
  const parts = folder.split("/");
  return folder.length > ROOM && parts.length > 2 ? `…/${parts.slice(-2).join("/")}` : folder;
}

/** Count the documents in each folder, including those below it. @returns {Map<string, number>} */
export function countFolders(rows) {
  const own = new Map();
  for (const row of rows) own.set(folderOf(row), (own.get(folderOf(row)) || 0) + 1);
  const all = new Map();
  for (const [folder, number] of own)
    for (let at = folder; at; at = at.slice(0, Math.max(0, at.lastIndexOf("/")))) all.set(at, (all.get(at) || 0) + number);
  return all;
}
