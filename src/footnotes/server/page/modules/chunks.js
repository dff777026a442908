/** The chunks of a document, drawn over its text with their overlaps. */

import { button, element, fill } from "./dom.js";
import { getJson, isAbort } from "./api.js";
import { unitsOf } from "./offsets.js";
import { count, t } from "./language.js";
import { pageOf, unwrapped } from "./words.js";

const AT_ONCE = 60;

/**
 * @param {any} found the document
 * @param {HTMLElement} holder
 * @param {AbortSignal} signal
 */
export async function chunkViewer(found, holder, signal) {
  const list = element("div", { class: "chunk-text" });
  const more = button(t("Show more"), { hidden: true, onclick: () => load() });
  const said = element("p", { class: "small soft", role: "status" });
  fill(holder, said, list, more);
  let offset = 0;
  async function load() {
    more.disabled = true;
    const path = `/v1/documents/${encodeURIComponent(found.id)}`;
    try {
      const {
        chunks,
        total,
        next_offset: next,
      } = await getJson(`${path}/chunks?limit=${AT_ONCE}&offset=${offset}`, signal);
      const shared = chunks.some((chunk, index) => index > 0 && chunk.start < chunks[index - 1].end);
      said.textContent = [t("{chunks}, each found as a whole.", { chunks: count(total, "chunk") }), shared && t("Tinted words belong to two chunks.")].filter(Boolean).join(" ");
      if (chunks.length > 0) {
        const start = Math.min(...chunks.map((chunk) => chunk.start));
        const end = Math.max(...chunks.map((chunk) => chunk.end));
        const text = unwrapped((await getJson(`${path}/text?start=${start}&end=${end}`, signal)).text);
        list.append(...chunks.map((chunk, index) => drawChunk(chunk, text, start, chunks[index - 1])));
      }
      offset = next ?? 0;
      more.hidden = next === null;
    } catch (error) {
      if (!isAbort(error)) said.textContent = `${error.message}. ${error.remedy || ""}`;
    }
    more.disabled = false;
  }
  await load();
}

function drawChunk(chunk, text, base, before) {
  const unit = unitsOf(text);
  const [start, end] = [unit(chunk.start - base), unit(chunk.end - base)];
  const shared = before ? Math.max(start, Math.min(end, unit(before.end - base))) : start;
  const about = [
    chunk.pages ? pageOf(chunk.pages[0]) : t("line {line}", { line: chunk.lines?.[0] ?? 1 }),
    count(chunk.tokens, "token"),
    chunk.prefix ? "" : chunk.headings.join(" › "),
  ]
    .filter(Boolean)
    .join(" · ");
  return element(
    "section",
    { class: "chunk", "aria-label": t("Chunk {number}", { number: chunk.index + 1 }) },
    element(
      "h3",
      { class: "chunk-head" },
      element("span", { class: "chunk-number number" }, chunk.index + 1),
      element("span", { class: "clip" }, about),
    ),
    chunk.prefix &&
      element(
        "p",
        { class: "chunk-prefix", title: t("Embedded and indexed with the text, but not part of it") },
        chunk.prefix.trim(),
      ),
    element(
      "div",
      { class: "chunk-body" },
      shared > start && element("span", { class: "shared" }, text.slice(start, shared)),
      text.slice(shared, end),
    ),
  );
}
