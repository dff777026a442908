/** The right column: one thing at a time, opened by something and closed back to it. */

import { button, element, fill } from "./dom.js";

const NARROW = matchMedia("(max-width: 50rem)");

class Panel {
  #root = /** @type {HTMLElement} */ (document.getElementById("panel"));
  #shell = /** @type {HTMLElement} */ (document.getElementById("shell"));
  /** @type {HTMLElement | null} */
  #origin = null;
  /** @type {(() => void)[]} what gives up the resources of the content shown now */
  #cleanups = [];
  /** @type {(() => void)[]} */
  #listeners = [];

  get isOpen() {
    return !this.#root.hidden;
  }

  /** Show other content. Returns a signal that is aborted when this content makes way. */
  show({ title, subtitle = null, tools = [], body, origin = null, label = "Source" }) {
    this.#clean();
    const abort = new AbortController();
    this.#cleanups.push(() => abort.abort());
    if (origin) this.#origin = origin;
    this.#root.setAttribute("aria-label", label);
    const close = button("Close (Escape)", {
      picture: "close",
      only: true,
      kind: "quiet",
      onclick: () => this.close(),
    });
    fill(
      this.#root,
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
    this.#shell.classList.add("with-panel");
    // Over the page on a phone: the focus has to come along, or the keyboard would go on below.
    if (NARROW.matches) close.focus();
    return abort.signal;
  }

  /** Put something between the head and what scrolls: it stays in sight. */
  pin(...nodes) {
    this.#root.querySelector(".panel-bar")?.remove();
    this.#root.querySelector(".panel-head")?.after(element("div", { class: "panel-bar" }, nodes));
  }

  /** Give something up when the content makes way, an object URL for instance. */
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
    this.#root.replaceChildren();
    this.#shell.classList.remove("with-panel");
    for (const action of this.#listeners) action();
    if (held && this.#origin?.isConnected) this.#origin.focus();
    this.#origin = null;
  }

  #clean() {
    for (const action of this.#cleanups.splice(0)) action();
  }
}

export const panel = new Panel();
