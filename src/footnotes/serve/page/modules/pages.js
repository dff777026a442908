/** A PDF to be read: all its pages one below the other, each a sharp picture with its words over it to select and find. */

import { button, element, fill } from "./dom.js";
import { getBlob, getJson, isAbort } from "./api.js";
import { panel } from "./panel.js";
import { touches } from "./reading.js";

const WIDEST = 2400;
const ZOOMS = [1, 1.25, 1.5, 2, 2.5, 3];
const PAPER = 1.414;

/**
 * @param {any} found the document
 * @param {import("./source.js").Span | null} span the words to show
 * @param {AbortSignal} signal
 * @param {{start: number, end: number}[]} others further spans to mark
 */
export function pageViewer(found, span, signal, others = []) {
  return new PageViewer(found, span, signal, others);
}

class PageViewer {
  /** @type {Sheet[]} */
  #sheets = [];
  #zoom = 0;
  page = 1;

  constructor(found, span, signal, others) {
    this.found = found;
    this.span = span;
    this.others = others;
    this.signal = signal;
    this.said = element("p", { class: "small soft page-said", role: "status" });
    this.field = element("input", {
      type: "number",
      min: "1",
      max: String(found.pages),
      "aria-label": "Page",
      class: "page-field",
      onchange: () => this.go(Number(this.field.value)),
    });
    const turn = (words, picture, by) =>
      button(words, { picture, only: true, kind: "quiet", onclick: () => this.go(this.page + by) });
    this.back = turn("Previous page", "previous", -1);
    this.forth = turn("Next page", "next", 1);
    const zoom = (words, sign, by) =>
      button(sign, { kind: "quiet", "aria-label": words, title: words, onclick: () => this.zoom(by) });
    this.line = element(
      "div",
      { class: "page-line" },
      this.back,
      element("label", {}, "Page ", this.field, ` of ${found.pages}`),
      this.forth,
      element("span", { class: "grow" }),
      zoom("Smaller (-)", "−", -1),
      zoom("Larger (+)", "+", 1),
      button("Fit width", { kind: "quiet", onclick: () => this.zoom(0) }),
    );
    this.stack = element("div", { class: "page-stack" });
    const pages = { class: "page-frame", tabindex: "0", role: "region", "aria-label": "Pages" };
    this.root = element("div", { class: "page-viewer" }, this.line, this.said, element("div", pages, this.stack));
    for (let number = 1; number <= found.pages; number += 1) this.#sheets.push(new Sheet(this, number));
    fill(
      this.stack,
      this.#sheets.map((sheet) => sheet.root),
    );
    panel.onCleanup(() => this.#close());
    requestAnimationFrame(() => this.#begin());
  }

  #begin() {
    const frame = this.root.closest(".panel-body");
    if (!frame || this.signal.aborted) return;
    this.frame = frame;
    // What is near the window is drawn, what is far is given up: a book of a thousand pages takes no more than a letter.
    this.watcher = new IntersectionObserver(
      (entries) => {
        for (const entry of entries) this.#sheets[Number(entry.target.getAttribute("data-page")) - 1].near(entry.isIntersecting);
      },
      { root: frame, rootMargin: "60% 0px" },
    );
    for (const sheet of this.#sheets) this.watcher.observe(sheet.root);
    frame.addEventListener("scroll", () => this.#scrolled(), { signal: this.signal, passive: true });
    if (this.span?.page) this.go(this.span.page);
    else this.#show(1);
    this.shown = false;
  }

  #close() {
    this.watcher?.disconnect();
    for (const sheet of this.#sheets) sheet.release();
  }

  /** Bring a page to the upper edge. */
  go(page) {
    this.shown = true; // whoever turns pages is not taken back to the quoted words
    const wanted = Math.max(1, Math.min(page || 1, this.found.pages));
    const sheet = this.#sheets[wanted - 1];
    sheet.near(true);
    this.#show(wanted);
    this.#aim(sheet, 0);
  }

  /** Scroll to a share of a page; while pictures above it are on their way nothing moves, for their places are kept. */
  #aim(sheet, share) {
    if (!this.frame) return;
    const top = sheet.root.getBoundingClientRect().top - this.frame.getBoundingClientRect().top + this.frame.scrollTop;
    const room = share > 0 ? this.frame.clientHeight * 0.3 : this.line.offsetHeight + 8;
    this.frame.scrollTop = top + share * sheet.root.clientHeight - room;
  }

  #scrolled() {
    if (!this.frame) return;
    const edge = this.frame.getBoundingClientRect().top + this.frame.clientHeight * 0.4;
    const first = this.#sheets.find((sheet) => sheet.root.getBoundingClientRect().bottom > edge);
    if (first && first.number !== this.page) this.#show(first.number);
  }

  #show(page) {
    this.page = page;
    if (document.activeElement !== this.field) this.field.value = String(page);
    this.back.disabled = page === 1;
    this.forth.disabled = page === this.found.pages;
    const elsewhere = this.span?.page && this.span.page !== page && !this.#sheets[page - 1].boxed;
    this.said.textContent = elsewhere ? "The quoted words are on another page." : "";
  }

  /** @param {number} by one step larger or smaller, or 0 for the width of the column */
  zoom(by) {
    this.#zoom = by === 0 ? 0 : Math.max(0, Math.min(this.#zoom + by, ZOOMS.length - 1));
    this.stack.style.width = `${ZOOMS[this.#zoom] * 100}%`;
    const { page } = this;
    for (const sheet of this.#sheets) sheet.sharpen();
    this.go(page);
  }

  /** The dots a page is drawn with. */
  get dots() {
    const seen = this.stack.clientWidth || 600;
    return Math.min(WIDEST, Math.max(600, Math.round(seen * Math.min(devicePixelRatio || 1, 3))));
  }

  /** The boxed words a little below the upper edge, once their page is drawn. */
  boxed(sheet, share) {
    if (this.shown) return;
    this.shown = true;
    this.#aim(sheet, share);
  }

  /** Show words that were looked for. */
  reveal(place) {
    this.sought = place;
    const sheet = this.#sheets[(place.page || 1) - 1];
    for (const one of this.#sheets) one.mark();
    sheet.near(true);
    this.#show(sheet.number);
    this.#aim(sheet, sheet.shareOf(place));
  }
}

class Sheet {
  #address = "";
  #wanted = false;
  #drawn = 0;
  #words = null;
  boxed = false;

  constructor(viewer, number) {
    this.viewer = viewer;
    this.number = number;
    this.image = element("img", { class: "page-picture", alt: "", hidden: true });
    this.layer = element("div", { class: "page-words" });
    this.root = element("div", { class: "page-sheet", "data-page": number }, this.image, this.layer);
    this.root.style.aspectRatio = `1 / ${PAPER}`;
  }

  near(isNear) {
    if (isNear === this.#wanted) return;
    this.#wanted = isNear;
    if (isNear) this.#draw();
    else this.release();
  }

  sharpen() {
    if (this.#wanted && this.#drawn < this.viewer.dots) this.#draw();
  }

  release() {
    if (this.#address) URL.revokeObjectURL(this.#address);
    this.#address = "";
    this.#drawn = 0;
    this.image.removeAttribute("src");
    this.image.hidden = true;
    this.layer.replaceChildren();
  }

  async #draw() {
    const { viewer } = this;
    const { span, found, signal } = viewer;
    const path = `/v1/documents/${encodeURIComponent(found.id)}/pages/${this.number}`;
    const dots = viewer.dots;
    const query = new URLSearchParams({ width: String(dots) });
    // Words may stand on two pages: the one they begin on and the next are asked.
    const may = span && (!span.page || this.number === span.page || this.number === span.page + 1);
    if (may) (query.set("start", String(span.start)), query.set("end", String(span.end)));
    try {
      const [blob, boxes, words] = await Promise.all([
        getBlob(`${path}?${query}`, signal),
        may ? getJson(`${path}/boxes?${query}`, signal) : { boxes: [] },
        this.#words || getJson(`${path}/words`, signal).then((answer) => answer.words),
      ]);
      if (!this.#wanted || signal.aborted) return;
      this.#words = words;
      await this.#show(blob, boxes.boxes, dots);
    } catch (error) {
      if (isAbort(error) || signal.aborted) return;
      this.#wanted = false;
      fill(this.layer, element("p", { class: "small failure" }, `${error.message}. ${error.remedy || ""}`));
    }
  }

  async #show(blob, boxes, dots) {
    if (this.#address) URL.revokeObjectURL(this.#address);
    this.#address = URL.createObjectURL(blob);
    this.#drawn = dots;
    this.boxed = boxes.length > 0;
    this.image.src = this.#address;
    this.image.dataset.boxes = String(boxes.length);
    const said = this.boxed ? "; the quoted words are boxed" : "";
    this.image.alt = `Page ${this.number} of ${this.viewer.found.filename}${said}`;
    this.image.hidden = false;
    await this.image.decode().catch(() => {});
    if (this.image.naturalWidth)
      this.root.style.aspectRatio = `${this.image.naturalWidth} / ${this.image.naturalHeight}`;
    this.#drawWords();
    if (this.boxed) this.viewer.boxed(this, Math.min(...boxes.map((box) => box[1])));
  }

  /** The words where they stand, unseen, to be selected, copied and found: line by line, so that lines are copied whole. */
  #drawWords() {
    const lines = linesOf(this.#words || []).map((words) => {
      const [left, top, right, bottom] = frameOf(words);
      const line = element(
        "span",
        { class: "line" },
        words.map(([start, text], index) => [index > 0 && " ", element("span", { "data-start": start }, text)]),
      );
      line.style.left = `${left * 100}%`;
      line.style.top = `${top * 100}%`;
      line.style.fontSize = `${(bottom - top) * 82}cqh`;
      return { line, share: right - left };
    });
    fill(
      this.layer,
      lines.map(({ line }) => line),
    );
    const wide = this.layer.clientWidth;
    const natural = lines.map(({ line }) => line.offsetWidth);
    lines.forEach(({ line, share }, index) => {
      if (natural[index] > 0) line.style.transform = `scaleX(${(share * wide) / natural[index]})`;
    });
    this.mark();
  }

  /** The words of the other footnotes, and those that were looked for. */
  mark() {
    const { others, sought } = this.viewer;
    for (const span of this.layer.querySelectorAll("[data-start]")) {
      const start = Number(span.getAttribute("data-start"));
      const own = { start, end: start + (span.textContent || "").length };
      span.classList.toggle("noted", others.some((one) => touches(one, own)));
      span.classList.toggle("sought", Boolean(sought && touches(sought, own)));
    }
  }

  shareOf(place) {
    const word = (this.#words || []).find(([start, text]) => touches(place, { start, end: start + text.length }));
    return word ? word[3] : 0.01;
  }
}

/** Words that stand beside each other on one line; a wide gap parts the cells of a table. */
function linesOf(words) {
  const lines = [];
  for (const word of words) {
    const last = lines.at(-1)?.at(-1);
    const high = word[5] - word[3];
    const beside =
      last &&
      Math.min(last[5], word[5]) - Math.max(last[3], word[3]) > high * 0.5 &&
      word[2] - last[4] > -high &&
      word[2] - last[4] < high * 1.5;
    if (beside) lines.at(-1).push(word);
    else lines.push([word]);
  }
  return lines;
}

function frameOf(words) {
  const all = (place, choose) => choose(...words.map((word) => word[place]));
  return [all(2, Math.min), all(3, Math.min), all(4, Math.max), all(5, Math.max)];
}
