/**
 * Builds elements without HTML strings. Children are texts or nodes, so nothing in a document or from a model can
 * become markup.
 */

import { t } from "./language.js";

const SVG = "http://www.w3.org/2000/svg";

/**
 * @template {keyof HTMLElementTagNameMap} Name
 * @param {Name} name
 * @param {Record<string, any>} [attributes] `on…` adds a listener, `class` and others set attributes; null is skipped
 * @param {...any} children texts, numbers, nodes, lists of them; null and false are skipped
 * @returns {HTMLElementTagNameMap[Name]}
 */
export function element(name, attributes = {}, ...children) {
  const made = document.createElement(name);
  assign(made, attributes);
  append(made, children);
  return made;
}

/**
 * @param {string} name
 * @param {Record<string, any>} [attributes]
 * @param {...any} children
 * @returns {SVGElement}
 */
export function drawing(name, attributes = {}, ...children) {
  const made = document.createElementNS(SVG, name);
  assign(made, attributes);
  append(made, children);
  return made;
}

function assign(made, attributes) {
  for (const [name, value] of Object.entries(attributes)) {
    if (value === null || value === undefined || value === false) continue;
    if (name.startsWith("on")) made.addEventListener(name.slice(2), value);
    else if (name === "value" || name === "checked" || name === "disabled" || name === "hidden") made[name] = value;
    else made.setAttribute(name, value === true ? "" : String(value));
  }
}

function append(made, children) {
  for (const child of children.flat(Infinity)) {
    if (child === null || child === undefined || child === false) continue;
    made.append(child instanceof Node ? child : document.createTextNode(String(child)));
  }
}

/** Replace the children of an element. */
export function fill(parent, ...children) {
  parent.replaceChildren();
  append(parent, children);
  return parent;
}

/**
 * Replace the children of an element in use: the focus stays, and nothing scrolls.
 * @param {HTMLElement} parent
 * @param {() => any[]} make makes them, perhaps from the current ones
 */
export function refill(parent, make) {
  const held = parent.contains(document.activeElement) ? /** @type {HTMLElement} */ (document.activeElement) : null;
  const top = parent.scrollTop;
  fill(parent, make());
  parent.scrollTop = top;
  if (!held) return;
  const named = (one) => one.getAttribute("aria-label") || one.textContent;
  const same = parent.contains(held) ? held : [...parent.querySelectorAll(held.tagName)].find((one) => named(one) === named(held));
  same?.focus({ preventScroll: true });
}

const PATHS = {
  ask: "M4 5h16v11H9l-5 4z",
  search: "M10.5 4a6.5 6.5 0 1 0 0 13 6.5 6.5 0 0 0 0-13zM15.5 15.5 21 21",
  library: "M5 4v16M9 4v16M13 4v16M16 4.5l4 15.5",
  settings: "M4 7h10M18 7h2M4 17h2M10 17h10M16 5v4M8 15v4",
  close: "M6 6l12 12M18 6 6 18",
  previous: "M14 6l-6 6 6 6",
  next: "M10 6l6 6-6 6",
  download: "M12 4v11M7 11l5 5 5-5M5 20h14",
  copy: "M9 9h11v11H9zM15 9V4H4v11h5",
  fold: "M4 5h16v14H4zM10 5v14M17 9l-3 3 3 3",
  unfold: "M4 5h16v14H4zM10 5v14M14 9l3 3-3 3",
  arrow: "M5 12h14M13 6l6 6-6 6",
  stop: "M7 7h10v10H7z",
  again: "M5 12a7 7 0 1 1 2 5M5 20v-4h4",
  list: "M9 6h11M9 12h11M9 18h11M4 6h1M4 12h1M4 18h1",
  pencil: "M4 20l1-4L16 5l3 3L8 19z",
  bin: "M5 7h14M10 7V4h4v3M7 7l1 13h8l1-13",
  up: "M7 11v9H4v-9zM7 11l4-7c2 0 2 1 2 3v2h6l-1.5 9H7",
  down: "M7 13V4H4v9zM7 13l4 7c2 0 2-1 2-3v-2h6l-1.5-11H7",
  plus: "M12 5v14M5 12h14",
};

/** @param {keyof typeof PATHS} name */
export function icon(name) {
  const strokes = {
    fill: "none",
    stroke: "currentColor",
    "stroke-width": 1.6,
    "stroke-linecap": "round",
    "stroke-linejoin": "round",
  };
  return drawing(
    "svg",
    { class: "icon", viewBox: "0 0 24 24", "aria-hidden": "true" },
    drawing("path", { d: PATHS[name], ...strokes }),
  );
}

/**
 * A button with a picture and words, or only a picture, whose label are the words.
 * @param {string} words
 * @param {Record<string, any>} [options] picture, only, kind; the rest are attributes
 */
export function button(words, { picture = null, only = false, kind = "", ...attributes } = {}) {
  const label = only ? { "aria-label": words, title: words } : {};
  const classes = [kind, only ? "icon" : ""].filter(Boolean).join(" ");
  return element(
    "button",
    { type: "button", class: classes || null, ...label, ...attributes },
    picture && icon(picture),
    !only && words,
  );
}

/**
 * Buttons of which one is active at a time, at first the first one.
 * @param {string} label
 * @param {Record<string, () => void>} actions by their words
 */
export function choice(label, actions) {
  const buttons = Object.entries(actions).map(([words, action], index) =>
    button(words, {
      "aria-pressed": String(index === 0),
      onclick: () => {
        for (const one of buttons) one.setAttribute("aria-pressed", String(one === buttons[index]));
        action();
      },
    }),
  );
  return element("div", { class: "choice", role: "group", "aria-label": label }, buttons);
}

/** Announce something to screen readers, politely. */
export function announce(text) {
  const live = document.getElementById("live");
  if (live) live.textContent = text;
}

/** A dialog that closes with Escape, restores the focus, and is then removed. */
export function showDialog(title, content, actions = [], { closable = true, className = "" } = {}) {
  const heading = element("h2", { id: `dialog-${nextId()}` }, title);
  const dialog = element(
    "dialog",
    { class: className || null, "aria-labelledby": heading.id },
    heading,
    content,
    actions.length > 0 && element("div", { class: "row end" }, actions),
  );
  dialog.addEventListener("close", () => dialog.remove());
  if (!closable) dialog.addEventListener("cancel", (event) => event.preventDefault());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}

/**
 * Ask before an action that cannot be undone.
 * @returns {Promise<boolean>}
 */
export function confirmed(title, text, words) {
  return new Promise((resolve) => {
    let answer = false;
    const sure = button(words, { kind: "danger", onclick: () => ((answer = true), dialog.close()) });
    const back = button(t("Cancel"), { onclick: () => dialog.close(), autofocus: true });
    const dialog = showDialog(title, element("p", {}, text), [back, sure]);
    dialog.addEventListener("close", () => resolve(answer));
  });
}

let ids = 0;
export function nextId() {
  ids += 1;
  return ids;
}

/** Debounce a function: run it once, when calls have stopped for a while. */
export function settled(wait, action) {
  let timer = 0;
  return (...given) => {
    clearTimeout(timer);
    timer = setTimeout(() => action(...given), wait);
  };
}
