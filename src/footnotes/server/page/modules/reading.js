/** Reading a document: its reader, a field to find words, and addresses of passages. */

import { announce, button, element } from "./dom.js";
import { getJson } from "./api.js";
import { t } from "./language.js";

export const touches = (one, other) => one.start < other.end && other.start < one.end;

/** The address of a passage. */
export function linkTo(documentId, span) {
  const place = span && span.end > span.start ? `?span=${span.start}-${span.end}` : "";
  return `#/d/${encodeURIComponent(documentId)}${place}`;
}

/** A span as part of an address. */
export function spanIn(text) {
  const match = /^(\d{1,12})-(\d{1,12})$/.exec(text || "");
  return match && Number(match[2]) > Number(match[1]) ? { start: Number(match[1]), end: Number(match[2]) } : null;
}

/** The page where a span begins, if the document has pages. */
export async function pageOf(found, span, signal) {
  const path = `/v1/documents/${encodeURIComponent(found.id)}/blocks?start=${span.start}&end=${span.end}&limit=1`;
  const { blocks } = await getJson(path, signal);
  return blocks[0]?.page ?? null;
}

/**
 * A field to find words in a document, with buttons for the next and previous match.
 * @param {string} documentId
 * @param {AbortSignal} signal
 * @param {(place: {start: number, end: number, page: number | null}) => void} onPlace
 */
export function finder(documentId, signal, onPlace) {
  let places = [];
  let now = -1;
  let asked = "";
  const said = element("span", { class: "small soft number", role: "status" });
  const show = (to) => {
    now = (to + places.length) % places.length;
    said.textContent = t("{number} of {all}", { number: now + 1, all: places.length === 500 ? "500+" : places.length });
    onPlace(places[now]);
  };
  const find = async (by) => {
    const words = field.value.trim();
    if (!words) return;
    if (words === asked && places.length > 0) return show(now + by);
    asked = words;
    try {
      const path = `/v1/documents/${encodeURIComponent(documentId)}/find?q=${encodeURIComponent(words)}`;
      ({ places } = await getJson(path, signal));
    } catch {
      return;
    }
    if (places.length === 0) {
      said.textContent = t("not found");
      announce(t("“{words}” is not in this document.", { words }));
    } else show(0);
  };
  const field = element("input", {
    type: "search",
    class: "small find-field",
    placeholder: t("Find in this document"),
    "aria-label": t("Find in this document"),
    maxlength: "500",
  });
  field.addEventListener("keydown", (event) => {
    if (event.key !== "Enter") return;
    event.preventDefault();
    find(event.shiftKey ? -1 : 1);
  });
  const step = (words, picture, by) => button(words, { picture, only: true, kind: "quiet", onclick: () => find(by) });
  return element(
    "div",
    { class: "finder row" },
    field,
    said,
    step(t("Previous place"), "previous", -1),
    step(t("Next place"), "next", 1),
  );
}
