/** A PDF reader: all pages in one column, each a sharp picture with invisible words over it to select and find. */

import { button, element, fill } from "./dom.js";
import { getBlob, getJson, isAbort } from "./api.js";
import { reindexDocuments } from "./changing.js";
import { panel } from "./panel.js";
import { touches } from "./reading.js";
import { t } from "./language.js";
import { state } from "./state.js";

const WIDEST = 2400;
const ZOOMS = [1, 1.25, 1.5, 2, 2.5, 3];
const PAPER = 1.414;
/** The height of a line, in pixels, at which words are easy to read. */
const READABLE = 16;

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
      "aria-label": t("Page"),
      class: "page-field",
      onchange: () => this.go(Number(this.field.value)),
    });
    const turn = (words, picture, by) =>
      button(words, { picture, only: true, kind: "quiet", onclick: () => this.go(this.page + by) });
    this.back = turn(t("Previous page"), "previous", -1);
    this.forth = turn(t("Next page"), "next", 1);
    const zoom = (words, sign, by) =>
      button(sign, { kind: "quiet", "aria-label": words, title: words, onclick: () => this.zoom(by) });
    this.line = element(
      "div",
      { class: "page-line" },
      this.back,
      element("label", {}, t("Page "), this.field, ` ${t("of {pages}", { pages: found.pages })}`),
      this.forth,
      element("span", { class: "grow" }),
      zoom(t("Smaller (-)"), "−", -1),
      zoom(t("Larger (+)"), "+", 1),
      span && button(t("To the quote"), { kind: "quiet", onclick: () => this.zoomToQuote() }),
      button(t("Fit width"), { kind: "quiet", onclick: () => this.zoom(0) }),
    );
    this.stack = element("div", { class: "page-stack" });
    const pages = { class: "page-frame", tabindex: "0", role: "region", "aria-label": t("Pages") };
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
    // Draw pages near the window and release distant ones: a book of a thousand pages takes no more than a letter.
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

  /** Scroll a page to the upper edge. */
  go(page) {
    this.shown = true; // do not scroll a user who turns pages back to the quoted words
    const wanted = Math.max(1, Math.min(page || 1, this.found.pages));
    const sheet = this.#sheets[wanted - 1];
    sheet.near(true);
    this.#show(wanted);
    this.#aim(sheet, 0);
  }

  /** Scroll to a share of a page; pictures that load above it do not move it, because their space is reserved. */
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
    this.said.textContent = elsewhere ? t("The quoted words are on another page.") : "";
  }

  /** @param {number} by one step larger or smaller, or 0 for the width of the column */
  zoom(by) {
    this.#zoom = by === 0 ? 0 : Math.max(0, Math.min(this.#zoom + by, ZOOMS.length - 1));
    this.stack.style.width = `${ZOOMS[this.#zoom] * 100}%`;
    const { page } = this;
    for (const sheet of this.#sheets) sheet.sharpen();
    this.go(page);
  }

  /** Zoom so that the quoted words fill the column, or can be read if they are wider than it. */
  zoomToQuote() {
    const sheet = this.#sheets.find((one) => one.boxed);
    this.wantsQuote = !sheet; // its page is still loading
    if (!sheet) return void (this.span?.page && this.go(this.span.page));
    const [left, top, right] = sheet.frame;
    const fitting = 0.95 / Math.max(right - left, 0.2);
    const readable = READABLE / Math.max(1, (sheet.line * sheet.root.clientHeight) / ZOOMS[this.#zoom]);
    const fits = ZOOMS.findLastIndex((one) => one <= fitting);
    const reads = ZOOMS.findIndex((one) => one >= readable);
    this.#zoom = Math.max(0, fits, reads < 0 ? ZOOMS.length - 1 : reads);
    this.stack.style.width = `${ZOOMS[this.#zoom] * 100}%`;
    for (const one of this.#sheets) one.sharpen();
    this.#aim(sheet, top);
    // Words wider than the column are shown from their beginning.
    const from = (right - left) * ZOOMS[this.#zoom] > 1 ? sheet.first : left;
    this.stack.parentElement.scrollLeft = from * this.stack.clientWidth - 8;
  }

  /** The resolution of a page's picture. */
  get dots() {
    const seen = this.stack.clientWidth || 600;
    return Math.min(WIDEST, Math.max(600, Math.round(seen * Math.min(devicePixelRatio || 1, 3))));
  }

  /** Show the boxed words a little below the upper edge, once their page is drawn. */
  boxed(sheet, share) {
    if (this.wantsQuote) return void this.zoomToQuote();
    if (this.shown) return;
    this.shown = true;
    this.#aim(sheet, share);
  }

  /** Show words that were searched for. */
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
  /** The box of the quoted words: left, top, right, bottom, in shares of the page. */
  frame = [0, 0, 1, 1];
  /** The height of one of their lines, in shares of the page. */
  line = 0.02;
  first = 0;

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
    // Words may span two pages, so ask the one they begin on and the next.
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
    this.frame = frameOf(boxes.map((box) => [0, "", ...box]));
    this.first = boxes[0]?.[0] ?? 0;
    this.line = Math.min(...boxes.map((box) => box[3] - box[1]), 0.1);
    this.image.src = this.#address;
    this.image.dataset.boxes = String(boxes.length);
    const place = { page: this.number, name: this.viewer.found.filename };
    this.image.alt = this.boxed ? t("Page {page} of {name}; the quoted words are boxed", place) : t("Page {page} of {name}", place);
    this.image.hidden = false;
    await this.image.decode().catch(() => {});
    if (this.image.naturalWidth)
      this.root.style.aspectRatio = `${this.image.naturalWidth} / ${this.image.naturalHeight}`;
    this.#drawWords();
    if (this.boxed) this.viewer.boxed(this, Math.min(...boxes.map((box) => box[1])));
  }

  /** Lay invisible words over the picture, to be selected, copied and found: line by line, so lines copy whole. */
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
    if (lines.length === 0) this.layer.append(withoutText(this.viewer.found, this.number) || "");
    this.mark();
  }

  /** The words of other footnotes, and words that were searched for. */
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

/** Actions for a page that is only a picture. */
function withoutText(found, page) {
  if ((found.metadata.ocr_pages || []).includes(page)) return null;
  const may = state.status?.recognises_text && state.may("write");
  const read = button(t("Read it by OCR"), { onclick: () => ((read.disabled = true), reindexDocuments([found])) });
  return element(
    "div",
    { class: "page-without" },
    t("This page has no text to find or select. "),
    may ? read : t("With the extra footnotes[ocr] on the server, pictures of text are read too."),
  );
}

/** Group words beside each other into a line; a wide gap separates table cells. */
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
