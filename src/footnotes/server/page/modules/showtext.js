/** Shows a text in a dialog, selected, to be copied by hand. */

import { button, element, showDialog } from "./dom.js";
import { t } from "./language.js";

export function showText(title, text) {
  const area = element("textarea", { readonly: true, rows: "10", cols: "60", "aria-label": title });
  area.value = text;
  const dialog = showDialog(title, area, [button(t("Close"), { onclick: () => dialog.close() })]);
  area.select();
}
