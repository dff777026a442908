/** Footnotes in the margin beside their lines, or below the answer if there is no margin. */

const GAP = 10;
const BELOW = 28;

/**
 * Put every note at the height of its reference, or below the previous note. In a narrow column the style sheet shows
 * the list below the answer, and the heights set here have no effect.
 * @param {HTMLElement} turn
 */
export function alignNotes(turn) {
  const notes = /** @type {HTMLElement | null} */ (turn.querySelector(".notes"));
  if (!notes) return;
  const margin = getComputedStyle(notes).position === "absolute";
  const items = /** @type {HTMLElement[]} */ ([...notes.children].filter((child) => child.tagName === "LI"));
  if (!margin) {
    for (const item of items) item.style.top = "";
    turn.style.minHeight = "";
    return;
  }
  const top = turn.getBoundingClientRect().top;
  const heights = items.map((item) => item.offsetHeight);
  const wished = items.map(
    (item) =>
      turn.querySelector(`.reference a[data-marker="${item.dataset.marker}"]`)?.getBoundingClientRect().top ?? top,
  );
  let free = 0;
  items.forEach((item, index) => {
    const place = Math.max(wished[index] - top - 6, free);
    item.style.top = `${place}px`;
    free = place + heights[index] + GAP;
  });
  turn.style.minHeight = `${free + BELOW}px`;
}
