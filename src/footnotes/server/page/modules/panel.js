/** The right column: shows one thing at a time, and returns the focus to its opener when closed. */

import { button, element, fill } from "./dom.js";
import { t } from "./language.js";

const NARROW = matchMedia("(max-width: 50rem)");
const OVER = matchMedia("(max-width: 69.99rem)");
const WIDTH = "footnotes.panel";
const STEP = 32;
const [LEAST, MOST] = [280, 1400];

class Panel {
  #root = /** @type {HTMLElement} */ (document.getElementById("panel"));
  /** @type {HTMLElement | null} */
  #origin = null;
  /** @type {(() => void)[]} release the resources of the current content */
  #cleanups = [];
  /** @type {(() => void)[]} */
  #listeners = [];

  /** @type {{zoom: (by: number) => void} | null} the current document view */
  viewer = null;

  get isOpen() {
    return !this.#root.hidden;
  }

  get holdsFocus() {
    return this.isOpen && this.#root.contains(document.activeElement);
  }

  /** Whether it covers its opener. */
  get isOver() {
    return OVER.matches;
  }

  /** Move the focus into the content, so that the scroll keys work there. */
  enter() {
    /** @type {HTMLElement | null} */ (this.#root.querySelector(".panel-body"))?.focus({ preventScroll: true });
  }

  giveFocusBack() {
    (this.#origin?.isConnected ? this.#origin : document.getElementById("main"))?.focus({ preventScroll: true });
  }

  find() {
    /** @type {HTMLElement | null} */ (this.#root.querySelector(".find-field"))?.focus();
  }

  /** Show other content. Returns a signal that is aborted when this content is replaced. */
  show({ title, subtitle = null, tools = [], body, origin = null, label = t("Source"), proves = "" }) {
    this.#clean();
    const abort = new AbortController();
    this.#cleanups.push(() => abort.abort());
    if (origin) this.#origin = origin;
    this.#root.setAttribute("aria-label", label);
    const close = button(t("Close (Escape)"), {
      picture: "close",
      only: true,
      kind: "quiet",
      onclick: () => this.close(),
    });
    fill(
      this.#root,
      this.#edge(),
      element("p", { class: "panel-sentence" }, proves),
      element(
        "header",
        { class: "panel-head" },
        element(
          "div",
          { class: "grow" },
          element("h2", { class: "clip", title: typeof title === "string" ? title : null }, title),
          subtitle && element("div", { class: "panel-sub" }, subtitle),
        ),
        element("div", { class: "panel-tools" }, tools, close),
      ),
      body,
    );
    this.#root.hidden = false;
    document.documentElement.dataset.beside = "yes";
    // On a phone it covers the page, so it takes the focus; otherwise keys would act on the page below.
    if (NARROW.matches) close.focus();
    return abort.signal;
  }

  /** A handle to resize the column, with the pointer or the arrow keys. */
  #edge() {
    const edge = element("div", {
      class: "panel-edge",
      role: "separator",
      tabindex: "0",
      "aria-orientation": "vertical",
      "aria-label": t("Width of the column"),
      "aria-valuemin": LEAST,
      "aria-valuemax": MOST,
      "aria-valuenow": this.#root.offsetWidth || LEAST,
    });
    const set = (width) => {
      const wide = Math.round(Math.max(LEAST, Math.min(width, MOST, innerWidth - 40)));
      document.documentElement.style.setProperty("--panel", `${wide}px`);
      edge.setAttribute("aria-valuenow", String(wide));
      localStorage.setItem(WIDTH, String(wide));
    };
    const before = Number(localStorage.getItem(WIDTH));
    if (before) set(before);
    const rightToLeft = document.documentElement.dir === "rtl";
    edge.addEventListener("pointerdown", (event) => {
      edge.setPointerCapture(event.pointerId);
      edge.onpointermove = (moved) => set(rightToLeft ? moved.clientX : innerWidth - moved.clientX);
    });
    edge.addEventListener("pointerup", () => (edge.onpointermove = null));
    edge.addEventListener("dblclick", () => (document.documentElement.style.removeProperty("--panel"), localStorage.removeItem(WIDTH)));
    edge.addEventListener("keydown", (event) => {
      const by = { ArrowLeft: STEP, ArrowRight: -STEP }[event.key];
      if (!by) return;
      event.preventDefault();
      set(this.#root.offsetWidth + (rightToLeft ? -by : by));
    });
    return edge;
  }

  /** Insert something between the head and the scrolling part, so it stays in sight. */
  pin(...nodes) {
    this.#root.querySelector(".panel-bar")?.remove();
    this.#root.querySelector(".panel-head")?.after(element("div", { class: "panel-bar" }, nodes));
  }

  /** Release something when the content is replaced, for example an object URL. */
  onCleanup(action) {
    this.#cleanups.push(action);
  }

  onClosed(action) {
    this.#listeners.push(action);
  }

  close() {
    if (!this.isOpen) return;
    this.#clean();
    const held = this.#root.contains(document.activeElement);
    this.#root.hidden = true;
    delete document.documentElement.dataset.beside;
    this.#root.replaceChildren();
    for (const action of this.#listeners) action();
    if (held) this.giveFocusBack();
    this.#origin = null;
  }

  #clean() {
    this.viewer = null;
    for (const action of this.#cleanups.splice(0)) action();
  }
}

export const panel = new Panel();
