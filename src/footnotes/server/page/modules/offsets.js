/**
 * The server counts Unicode code points, JavaScript UTF-16 units. Every span from the server is converted here, so that
 * an emoji before a sentence does not shift its footnote.
 */

const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/;

/**
 * @param {string} text
 * @returns {(codePoint: number) => number} returns the unit where a code point begins
 */
export function unitsOf(text) {
  if (!PAIR.test(text)) return (point) => Math.max(0, Math.min(point, text.length));
  /** @type {number[]} positions of surrogate pairs, in code points */
  const pairs = [];
  let point = 0;
  for (const character of text) {
    if (character.length === 2) pairs.push(point);
    point += 1;
  }
  return (wanted) => Math.max(0, Math.min(wanted + below(pairs, wanted), text.length));
}

/** Count the entries of a sorted list that are smaller than a number. */
function below(sorted, number) {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    if (sorted[middle] < number) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** Count the code points of a text. */
export function pointsIn(text) {
  return PAIR.test(text) ? Array.from(text).length : text.length;
}
