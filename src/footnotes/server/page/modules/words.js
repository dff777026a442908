/** Formats numbers, sizes, times and names for people. */

import { count, language, t } from "./language.js";

export function bytes(number) {
  const units = [t("bytes"), "KB", "MB", "GB", "TB"];
  let unit = 0;
  let left = number;
  while (left >= 1000 && unit < units.length - 1) {
    left /= 1000;
    unit += 1;
  }
  if (unit === 0) return `${Math.round(left)} ${units[unit]}`;
  return measured(left >= 100 ? Math.round(left) : left.toFixed(1), units[unit]);
}

export function duration(milliseconds) {
  if (milliseconds < 1) return t("under 1 ms");
  return milliseconds < 1000 ? measured(Math.round(milliseconds), "ms") : measured((milliseconds / 1000).toFixed(1), "s");
}

/** Keeps a number before its unit, even in text that runs from right to left. */
function measured(number, unit) {
  const text = `${number} ${unit}`;
  return document.documentElement.dir === "rtl" ? `\u2066${text}\u2069` : text;
}

/** `3 minutes`: a rounded time. */
export function longTime(milliseconds) {
  const minutes = milliseconds / 60_000;
  if (minutes < 1) return count(Math.max(5, Math.round(milliseconds / 5000) * 5), "second");
  return minutes < 90 ? count(Math.round(minutes), "minute") : count(Math.round(minutes / 60), "hour");
}

/** `it failed` → `It failed.`; a name at the beginning keeps its case. */
export function sentence(text) {
  const said = /^[a-z]+[ ,']/.test(text) ? text.charAt(0).toUpperCase() + text.slice(1) : text;
  return /[.!?]$/.test(said) ? said : `${said}.`;
}

export function day(moment) {
  const date = new Date(moment);
  return Number.isNaN(date.getTime())
    ? ""
    : date.toLocaleDateString(language, { year: "numeric", month: "short", day: "numeric" });
}

/** A date with the time. */
export function moment(text) {
  const date = new Date(text);
  return Number.isNaN(date.getTime()) ? "" : date.toLocaleString(language, { dateStyle: "medium", timeStyle: "short" });
}

/** A score with just enough digits to compare. */
export function score(value) {
  if (value === null || value === undefined) return "–";
  return Math.abs(value) >= 100 ? value.toFixed(0) : value.toFixed(Math.abs(value) >= 10 ? 1 : 3);
}

/** `pdf`, `md`: shown before a name in a list. */
export function kindOf(filename) {
  const match = /\.([A-Za-z0-9]{1,5})$/.exec(filename);
  return match ? match[1].toLowerCase() : "text";
}

/** `src/auth/token.py:12-14 @ 1a2b3c4`: a place in a source file of a repository. */
export function sourcePlace(path, lines, commit) {
  const at = lines ? `:${lines[0]}${lines[1] > lines[0] ? `-${lines[1]}` : ""}` : "";
  const dirty = commit?.endsWith("-dirty") ? "-dirty" : "";
  return `${path}${at}${commit ? ` @ ${commit.slice(0, 7)}${dirty}` : ""}`;
}

const STATES = {
  ready: t("ready"),
  failed: t("failed"),
  queued: t("waiting"),
  parsing: t("reading"),
  chunking: t("chunking"),
  embedding: t("making vectors"),
  indexing: t("indexing"),
};

/** The state of a document, as text. */
export function stateWords(state) {
  return STATES[state] || state;
}

/** `p. 4` */
export function pageOf(page) {
  return t("p. {page}", { page });
}

/** `handbook.pdf, p. 4` */
export function placeOf(citation) {
  if (citation.path) return sourcePlace(citation.path, citation.lines, citation.commit);
  return citation.page === null || citation.page === undefined
    ? citation.filename
    : `${citation.filename}, ${pageOf(citation.page)}`;
}

/** A passage as plain words, without signs of headings, fences and blank lines. */
export function withoutSigns(text) {
  return text.replace(/^(#{1,6} +|```.*\n?)/gm, "").replace(/\n{2,}/g, "\n");
}

/** Join lines that were broken at a fixed width; each break becomes one space, so that every offset stays. */
export function unwrapped(text) {
  return text.replace(/([^\n]{55,})\n(?=[\p{L}\p{N}“"'(])/gu, "$1 ");
}

/** The text on one line, cut at a word. */
export function shortened(text, limit) {
  const line = text.replace(/\s+/g, " ").trim();
  if (line.length <= limit) return line;
  const cut = line.slice(0, limit - 1);
  const space = cut.lastIndexOf(" ");
  return `${(space > limit * 0.6 ? cut.slice(0, space) : cut).replace(/[\s,;:]+$/, "")}…`;
}
