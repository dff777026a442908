/** Asks for a key where the server wants one. The key stays in this tab. */

import { button, element, showDialog } from "./dom.js";
import { getJson, key } from "./api.js";
import { t } from "./language.js";

let asking = null;

/** @returns {Promise<void>} when a key is there that the server takes */
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
        t("This library opens with a key. It is kept in this tab alone, until the tab is closed."),
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
            ? t("This key is not valid. Look whether all of it was copied, or ask whoever runs this library for another.")
            : `${error.message}. ${error.remedy || ""}`;
        field.select();
      }
    });
  });
  return asking;
}
