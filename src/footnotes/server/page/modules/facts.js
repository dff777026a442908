/** A list of names and values; empty values are skipped. */

import { element } from "./dom.js";

export function facts(rows) {
  const shown = rows.filter(([, value]) => value !== null && value !== undefined && value !== "" && value !== 0);
  return element(
    "dl",
    { class: "facts-list" },
    shown.map(([name, value]) => [element("dt", {}, name), element("dd", { class: "number" }, String(value))]),
  );
}
