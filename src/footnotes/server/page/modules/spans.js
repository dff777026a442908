/** Spans of a source, drawn around the text nodes that show them. */

/** @typedef {import("./markdown.js").Piece} Piece */

/**
 * Wrap the parts of text nodes that show a span. The pieces are split in place, so that spans can follow each other.
 * @param {Piece[]} pieces
 * @param {number} start
 * @param {number} end
 * @param {() => HTMLElement} make
 * @returns {HTMLElement[]} the new wrappers, in order
 */
export function wrap(pieces, start, end, make) {
  const wrapped = [];
  for (let index = 0; index < pieces.length; index += 1) {
    let piece = pieces[index];
    if (piece.end <= start || piece.start >= end) continue;
    if (piece.start < start) piece = split(pieces, index++, start);
    if (piece.end > end) split(pieces, index, end);
    const holder = make();
    piece.node.replaceWith(holder);
    holder.append(piece.node);
    wrapped.push(holder);
  }
  return wrapped;
}

/** Split a piece in two; returns the second. Text that differs from its source (an entity) is not split. */
function split(pieces, index, at) {
  const piece = pieces[index];
  const shown = piece.node.data.length;
  const offset = piece.end - piece.start === shown ? at - piece.start : at - piece.start > 0 ? shown : 0;
  const rest = piece.node.splitText(offset);
  const second = { node: rest, start: at, end: piece.end };
  piece.end = at;
  pieces.splice(index + 1, 0, second);
  return second;
}

/** The node after which a span's marker belongs: the last one that shows some of it, or of the text before it. */
export function lastBefore(pieces, end) {
  let found = null;
  for (const piece of pieces) if (piece.start < end && piece.node.data.trim()) found = piece;
  return found;
}
