/** Rows of tables in texts. */

/**
 * The cells of a row. Canonical text separates them by ` | ` and has no space at its ends, so a stroke there is an
 * empty cell; Markdown frames the row with strokes.
 * @param {string} row
 * @param {boolean} isFramed
 */
export function cellsOf(row, isFramed) {
  const line = row.trim();
  if (isFramed) return line.replace(/^\|[ \t]*|[ \t]*\|$/g, "").split(/ *\| */);
  return `${line.startsWith("|") ? " " : ""}${line}${line.endsWith("|") ? " " : ""}`.split(" | ");
}

/** Whether all rows are framed as Markdown frames them. @param {string[]} rows */
export function areFramed(rows) {
  return rows.length > 0 && rows.every((row) => /^\s*\|.*\|\s*$/.test(row));
}
