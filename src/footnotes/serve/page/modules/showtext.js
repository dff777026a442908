/** A text in a dialog, selected, to be copied by hand. */

import { button, element, showDialog } from "./dom.js";

export function showText(title, text) {
  const area = element("textarea", { readonly: true, rows: "10", cols: "60", "aria-label": title });
  area.value = text;
  const dialog = showDialog(title, area, [button("Close", { onclick: () => dialog.close() })]);
  area.select();
}
