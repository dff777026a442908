/** A small card with the quote of a footnote, shown on hover and on focus. */

import { element, fill } from "./dom.js";

const card = element("div", { class: "popover", role: "tooltip", id: "popover", hidden: true });
document.getElementById("main")?.append(card);
let anchor = null;
/** The last position of the pointer. */
let at = { x: -1, y: -1 };

/**
 * @param {HTMLElement} target
 * @param {() => (Node | string)[]} content created when it is shown
 */
export function explains(target, content) {
  target.setAttribute("aria-describedby", "popover");
  const show = () => open(target, content());
  // Text that scrolls under a resting pointer does not count as pointed at.
  target.addEventListener("mouseenter", (event) => (event.screenX !== at.x || event.screenY !== at.y) && show());
  target.addEventListener("focus", show);
  target.addEventListener("mouseleave", close);
  target.addEventListener("blur", close);
}

function open(target, content) {
  anchor = target;
  fill(card, content);
  card.hidden = false;
  const line = target.getClientRects()[0] || target.getBoundingClientRect();
  const size = card.getBoundingClientRect();
  const left = Math.max(12, Math.min(line.left - 16, innerWidth - size.width - 12));
  const above = line.top - size.height - 10;
  card.style.left = `${left}px`;
  card.style.top = `${above > 8 ? above : line.bottom + 10}px`;
}

/** Also call it when the anchor is removed: a removed element never gets a leave event. */
export function close() {
  anchor = null;
  card.hidden = true;
}

addEventListener("keydown", (event) => event.key === "Escape" && anchor && close(), true);
addEventListener("mousemove", (event) => (at = { x: event.screenX, y: event.screenY }), { capture: true, passive: true });
addEventListener("scroll", close, { capture: true, passive: true });
