/**
 * The server counts characters as Unicode code points, JavaScript as UTF-16 units. Every span that comes from the server
 * passes through here, so that an emoji before a sentence does not move its footnote.
 */

const PAIR = /[\uD800-\uDBFF][\uDC00-\uDFFF]/;

/**
 * @param {string} text
 * @returns {(codePoint: number) => number} the unit at which a code point begins
 */
export function unitsOf(text) {
  if (!PAIR.test(text)) return (point) => Math.max(0, Math.min(point, text.length));
  /** @type {number[]} places of the pairs, as code points */
  const pairs = [];
  let point = 0;
  for (const character of text) {
    if (character.length === 2) pairs.push(point);
    point += 1;
  }
  return (wanted) => Math.max(0, Math.min(wanted + below(pairs, wanted), text.length));
}

/** How many entries of a sorted list are smaller than a number. */
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

/** How many code points a text has. */
export function pointsIn(text) {
  return PAIR.test(text) ? Array.from(text).length : text.length;
}
