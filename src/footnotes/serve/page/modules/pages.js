/** A PDF as pictures of its pages, the quoted words boxed. */

import { button, element } from "./dom.js";
import { getBlob, getJson, isAbort } from "./api.js";
import { panel } from "./panel.js";

const WIDEST = 2400;

/**
 * @param {any} found the document
 * @param {import("./source.js").Span | null} span
 * @param {AbortSignal} signal
 */
export function pageViewer(found, span, signal) {
  return new PageViewer(found, span, signal).root;
}

class PageViewer {
  #address = "";
  #turn = 0;

  constructor(found, span, signal) {
    this.found = found;
    this.span = span;
    this.signal = signal;
    this.image = element("img", { class: "page-picture", alt: "" });
    this.sheet = element("div", { class: "page-sheet" }, this.image);
    this.said = element("p", { class: "small soft", role: "status" });
    this.field = element("input", {
      type: "number",
      min: "1",
      max: String(found.pages),
      "aria-label": "Page",
      class: "page-field",
      onchange: () => this.go(Number(this.field.value)),
    });
    this.back = button("Previous page", {
      picture: "previous",
      only: true,
      kind: "quiet",
      onclick: () => this.go(this.page - 1),
    });
    this.forth = button("Next page", {
      picture: "next",
      only: true,
      kind: "quiet",
      onclick: () => this.go(this.page + 1),
    });
    this.large = button("Enlarge", { kind: "quiet", "aria-pressed": "false", onclick: () => this.#enlarge() });
    const line = element(
      "div",
      { class: "page-line" },
      this.back,
      element("label", {}, "Page ", this.field, ` of ${found.pages}`),
      this.forth,
      this.large,
    );
    this.root = element("div", { class: "page-viewer" }, line, this.said, this.sheet);
    // Every picture is given up with the panel's content, or when the next one takes its place.
    panel.onCleanup(() => this.#release());
    this.go(span?.page || 1);
  }

  /** Wider than the panel, to be scrolled; the picture is fetched again with as many dots as are shown. */
  #enlarge() {
    const large = this.sheet.classList.toggle("large");
    this.large.setAttribute("aria-pressed", String(large));
    this.go(this.page);
  }

  #release() {
    if (this.#address) URL.revokeObjectURL(this.#address);
    this.#address = "";
  }

  async go(page) {
    this.page = Math.max(1, Math.min(page || 1, this.found.pages));
    this.field.value = String(this.page);
    this.back.disabled = this.page === 1;
    this.forth.disabled = this.page === this.found.pages;
    this.#turn += 1;
    const turn = this.#turn;
    const query = new URLSearchParams({ width: String(this.#width()) });
    if (this.span) {
      query.set("start", String(this.span.start));
      query.set("end", String(this.span.end));
    }
    const path = `/v1/documents/${encodeURIComponent(this.found.id)}/pages/${this.page}`;
    try {
      const [blob, boxes] = await Promise.all([
        getBlob(`${path}?${query}`, this.signal),
        this.span ? getJson(`${path}/boxes?${query}`, this.signal) : { boxes: [] },
      ]);
      if (turn !== this.#turn || this.signal.aborted) return;
      await this.#show(blob, boxes.boxes);
    } catch (error) {
      if (turn === this.#turn && !isAbort(error)) this.said.textContent = `${error.message}. ${error.remedy || ""}`;
    }
  }

  async #show(blob, boxes) {
    this.#release();
    this.#address = URL.createObjectURL(blob);
    this.image.src = this.#address;
    const boxed = boxes.length > 0 ? "; the quoted words are boxed" : "";
    this.image.alt = `Page ${this.page} of ${this.found.filename}${boxed}`;
    this.image.dataset.boxes = String(boxes.length);
    this.said.textContent = this.span && boxes.length === 0 ? "The quoted words are on another page." : "";
    await this.image.decode().catch(() => {});
    if (boxes.length > 0) this.#bringIntoView(Math.min(...boxes.map((box) => box[1])));
  }

  /** The boxed words a little below the upper edge of what is seen. */
  #bringIntoView(share) {
    const frame = this.root.closest(".panel-body");
    if (!frame) return;
    const top = this.image.getBoundingClientRect().top - frame.getBoundingClientRect().top + frame.scrollTop;
    const place = top + share * this.image.clientHeight;
    if (place > frame.scrollTop + frame.clientHeight * 0.8 || place < frame.scrollTop)
      frame.scrollTop = place - frame.clientHeight * 0.3;
  }

  #width() {
    const seen = this.sheet.clientWidth || document.getElementById("panel")?.clientWidth || 600;
    const wide = this.sheet.classList.contains("large") ? 1.9 : 1;
    return Math.min(WIDEST, Math.max(600, Math.round(seen * wide * Math.min(devicePixelRatio || 1, 3))));
  }
}
