/** Many controls with one tab stop: arrow keys move between them, Tab leaves. */

const FOCUSABLE = "a[href], button, input, select, [tabindex]";
const ROWS = "a[href], [data-row], input[type=search]";

/** @param {HTMLElement} root */
export function rove(root) {
  /** @type {Element | null} */
  let current = null;
  const all = () => /** @type {HTMLElement[]} */ ([...root.querySelectorAll(FOCUSABLE)]);
  const settle = () => {
    const found = all();
    if (!current || !found.includes(/** @type {HTMLElement} */ (current)) || !current.checkVisibility())
      current = found.find((one) => one.matches("[aria-current]") && one.checkVisibility()) || found.find((one) => one.checkVisibility()) || null;
    for (const one of found) {
      const wanted = one === current ? 0 : -1;
      if (one.tabIndex !== wanted) one.tabIndex = wanted;
    }
  };
  new MutationObserver(settle).observe(root, { childList: true, subtree: true });
  root.addEventListener("focusin", (event) => ((current = /** @type {Element} */ (event.target)), settle()));
  root.addEventListener("keydown", (event) => {
    if (event.defaultPrevented || event.altKey || event.ctrlKey || event.metaKey) return;
    const target = /** @type {HTMLElement} */ (event.target);
    const sideways = { ArrowLeft: -1, ArrowRight: 1 }[event.key];
    const along = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (sideways && target.matches("input:not([type=checkbox])")) return;
    const inner = target.closest("li") || target.parentElement;
    const among = all().filter((one) => one.checkVisibility() && (sideways ? inner?.contains(one) : one === target || one.matches(ROWS)));
    const next = among[among.indexOf(target) + (sideways || along || 0)];
    if (!(sideways || along) || !next || next === target) return;
    event.preventDefault();
    next.focus();
  });
  settle();
}
