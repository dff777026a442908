/** A list of any length that draws only visible rows. All rows have the same height. */

import { element } from "./dom.js";

const SPARE = 6;

export class VirtualList {
  #count = 0;
  /** @type {Map<number, HTMLElement>} */
  #rows = new Map();
  #frame = 0;

  /**
   * @param {{rowHeight: number, label: string, draw: (index: number) => Node}} options
   */
  constructor({ rowHeight, label, draw }) {
    this.rowHeight = rowHeight;
    this.draw = draw;
    this.list = element("ul", { "aria-label": label });
    this.root = element("div", { class: "rows" }, this.list);
    this.root.addEventListener("scroll", () => this.#soon(), { passive: true });
    this.root.addEventListener("keydown", (event) => this.#key(event));
    new ResizeObserver(() => this.#soon()).observe(this.root);
  }

  /** Set the number of rows, and redraw the visible ones. */
  update(count) {
    this.#count = count;
    this.list.style.height = `${count * this.rowHeight}px`;
    const held = this.#focused();
    for (const row of this.#rows.values()) row.remove();
    this.#rows.clear();
    this.#show();
    if (held >= 0) this.#focus(Math.min(held, count - 1));
  }

  get range() {
    const first = Math.floor(this.root.scrollTop / this.rowHeight);
    const seen = Math.ceil(this.root.clientHeight / this.rowHeight);
    return [Math.max(0, first - SPARE), Math.min(this.#count, first + seen + SPARE)];
  }

  #soon() {
    this.#frame ||= requestAnimationFrame(() => {
      this.#frame = 0;
      this.#show();
    });
  }

  #show() {
    const [first, end] = this.range;
    for (const [index, row] of this.#rows) {
      if (index >= first && index < end) continue;
      row.remove();
      this.#rows.delete(index);
    }
    for (let index = first; index < end; index += 1) {
      if (this.#rows.has(index)) continue;
      const row = element("li", { "aria-setsize": this.#count, "aria-posinset": index + 1 }, this.draw(index));
      row.style.top = `${index * this.rowHeight}px`;
      row.style.height = `${this.rowHeight}px`;
      this.#rows.set(index, row);
      this.list.append(row);
    }
  }

  #focused() {
    for (const [index, row] of this.#rows) if (row.contains(document.activeElement)) return index;
    return -1;
  }

  #focus(index) {
    const top = index * this.rowHeight;
    if (top < this.root.scrollTop) this.root.scrollTop = top;
    const bottom = this.list.offsetTop + top + this.rowHeight;
    if (bottom > this.root.scrollTop + this.root.clientHeight) this.root.scrollTop = bottom - this.root.clientHeight;
    this.#show();
    /** @type {HTMLElement | null | undefined} */ (this.#rows.get(index)?.querySelector("[data-row], button, a"))?.focus({
      preventScroll: true,
    });
  }

  /** Arrow and page keys, Home and End move through the rows, up to the end of the list. */
  #key(event) {
    const now = this.#focused();
    const page = Math.max(1, Math.floor(this.root.clientHeight / this.rowHeight) - 1);
    const steps = { ArrowDown: 1, ArrowUp: -1, PageDown: page, PageUp: -page, Home: -this.#count, End: this.#count };
    const step = steps[event.key];
    const beyond = Math.abs(step || 0) === 1 && (now + step < 0 || now + step >= this.#count);
    if (now < 0 || step === undefined || beyond) return;
    event.preventDefault();
    this.#focus(Math.max(0, Math.min(this.#count - 1, now + step)));
  }
}
