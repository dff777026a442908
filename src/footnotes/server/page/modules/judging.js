/** Ratings of an answer: up or down, with a reason. */

import { announce, button, element, fill } from "./dom.js";
import { putJson } from "./api.js";
import { t } from "./language.js";

/**
 * @param {string} path of the turn
 * @param {{rating: string | null, reason: string}} now
 */
export function judging(path, now) {
  const root = element("span", { class: "judging row" });
  const why = element("span", { class: "row", hidden: true });
  const save = async () => {
    try {
      await putJson(`${path}/rating`, { rating: now.rating, reason: now.reason });
      announce(now.rating ? t("Thank you. Your rating is saved.") : t("Your rating is removed."));
    } catch (error) {
      announce(t("It could not be saved: {reason}.", { reason: error.message }));
    }
  };
  const choose = (rating) => {
    now.rating = now.rating === rating ? null : rating;
    if (!now.rating) now.reason = "";
    draw();
    save();
  };
  const thumb = (rating, words, picture) =>
    button(words, {
      picture,
      only: true,
      kind: "quiet",
      "aria-pressed": String(now.rating === rating),
      onclick: () => choose(rating),
    });
  const draw = () => {
    const held = root.contains(document.activeElement) ? document.activeElement?.getAttribute("aria-label") : "";
    const field = element("input", {
      type: "text",
      class: "small",
      maxlength: "2000",
      value: now.reason,
      placeholder: t("Why?"),
      "aria-label": t("Why"),
      onchange: () => {
        now.reason = field.value.trim();
        save();
      },
    });
    why.hidden = !now.rating;
    fill(why, field);
    fill(root, thumb("up", t("A good answer"), "up"), thumb("down", t("Not a good answer"), "down"), why);
    if (held) /** @type {HTMLElement | null} */ (root.querySelector(`[aria-label="${held}"]`))?.focus();
  };
  draw();
  return root;
}
