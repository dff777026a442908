/** Asks for a key if the server requires one. The key stays in this tab. */

import { button, element, showDialog } from "./dom.js";
import { getJson, key } from "./api.js";
import { t } from "./language.js";

let asking = null;

/** @returns {Promise<void>} resolves when there is a valid key */
export function askForKey() {
  asking ||= new Promise((resolve) => {
    const field = element("input", {
      type: "password",
      id: "key",
      autocomplete: "off",
      required: true,
      spellcheck: "false",
    });
    const trouble = element("p", { class: "failure", role: "alert" });
    const form = element(
      "form",
      { class: "login", id: "login-form" },
      element(
        "p",
        { class: "soft" },
        t("This library needs a key. The key is kept only in this tab, until you close it."),
      ),
      element("label", { for: "key" }, t("Key")),
      field,
      trouble,
    );
    const dialog = showDialog(
      "Footnotes",
      form,
      [button(t("Open the library"), { kind: "primary", type: "submit", form: "login-form" })],
      { closable: false },
    );
    form.addEventListener("submit", async (event) => {
      event.preventDefault();
      key.set(field.value.trim());
      try {
        await getJson("/v1/status");
        dialog.close();
        asking = null;
        resolve();
      } catch (error) {
        key.forget();
        trouble.textContent =
          error.status === 401
            ? t("This key is not valid. Check that you copied all of it, or ask the operator of this library for another.")
            : `${error.message}. ${error.remedy || ""}`;
        field.select();
      }
    });
  });
  return asking;
}
