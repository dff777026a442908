/** The headings of a document, for navigation. */

import { button, element, fill } from "./dom.js";
import { getJson } from "./api.js";
import { t } from "./language.js";

const MOST = 500;

/**
 * A button that unfolds the list of headings; hidden if there are none.
 * @param {any} found
 * @param {AbortSignal} signal
 * @param {(place: {start: number, end: number, page: number | null}) => void} onPlace
 */
export function outline(found, signal, onPlace) {
  const list = element("ol", { class: "outline", hidden: true });
  const show = async () => {
    if (list.children.length === 0) await load();
    list.hidden = !list.hidden;
    open.setAttribute("aria-expanded", String(!list.hidden));
  };
  const open = button(t("Contents"), { picture: "list", kind: "quiet", "aria-expanded": "false", onclick: show });
  const load = async () => {
    const path = `/v1/documents/${encodeURIComponent(found.id)}/blocks?kind=heading&limit=${MOST}`;
    const { blocks } = await getJson(path, signal);
    fill(
      list,
      blocks.length === 0 && element("li", { class: "soft small" }, t("It has no headings.")),
      blocks.map((block) => {
        const go = element("button", { type: "button", class: "link clip", onclick: () => onPlace(block) }, block.text.replace(/^#+\s*/, ""));
        const item = element("li", {}, go);
        item.style.paddingInlineStart = `${Math.min(Math.max(block.level - 1, 0), 5) * 0.9}rem`;
        return item;
      }),
    );
  };
  return { button: open, list };
}
