/** API keys and their scopes. A key is shown once, when it is created. */

import { button, confirmed, element, fill, showDialog } from "./dom.js";
import { getJson, key, postJson, remove } from "./api.js";
import { state } from "./state.js";
import { loadStatus } from "./status.js";
import { day } from "./words.js";
import { t } from "./language.js";

/** @param {HTMLElement} holder */
export async function keysSection(holder) {
  const { keys } = await getJson("/v1/keys");
  const live = keys.filter((one) => one.live);
  const none =
    t("There are no keys: this server answers only this machine. Once there is a key, every request needs one.");
  fill(
    holder,
    element(
      "div",
      { class: "row" },
      element("h2", { class: "grow" }, t("Keys")),
      button(t("New key"), { picture: "plus", onclick: () => create(holder, live.length === 0) }),
    ),
    live.length === 0
      ? element("p", { class: "small soft" }, none)
      : element(
          "ul",
          { class: "keys" },
          live.map((one) => row(one, holder, isLastAdmin(one, live))),
        ),
  );
}

/** Whether a key is the last admin: without it no one could create further keys. */
function isLastAdmin(one, live) {
  return live.filter((each) => each.scopes.includes("admin")).every((each) => each === one);
}

function row(one, holder, isLast) {
  const until = one.expires_at ? t("until {day}", { day: day(one.expires_at) }) : t("no expiry");
  const revoke = async () => {
    if (!(await confirmed(t("Revoke {name}?", { name: one.name || one.id }), t("Requests with this key are refused at once."), t("Revoke")))) return;
    await remove(`/v1/keys/${encodeURIComponent(one.id)}`);
    await keysSection(holder);
  };
  return element(
    "li",
    { class: "row" },
    element(
      "span",
      { class: "grow clip" },
      element("strong", {}, one.name || one.id),
      element("span", { class: "soft" }, ` ${(one.scopes || []).join(", ")}, ${until}`),
    ),
    isLast
      ? element("span", { class: "small soft" }, t("the only admin key"))
      : button(t("Revoke"), { kind: "quiet danger", onclick: revoke }),
  );
}

function create(holder, first) {
  const name = element("input", { id: "key-name", maxlength: "200", class: "wide", placeholder: t("Who uses it") });
  const days = element("input", { id: "key-days", type: "number", min: "1", max: "36500", placeholder: t("no expiry") });
  // The first key locks the door: it must be one that can make others.
  const boxes = ["read", "write", "admin"].map((scope) =>
    element("input", {
      type: "checkbox",
      value: scope,
      checked: scope === "read" || first,
      disabled: first && scope === "admin",
    }),
  );
  const trouble = element("p", { class: "failure", role: "alert" });
  const form = element(
    "form",
    { class: "stack", id: "key-form" },
    first &&
      element(
        "p",
        { class: "soft" },
        t("This is the first key. From now on every request needs one; this tab will use it."),
      ),
    element("label", { for: "key-name" }, t("Name")),
    name,
    element(
      "fieldset",
      {},
      element("legend", {}, t("Permissions")),
      boxes.map((box) => element("label", { class: "radio" }, box, box.value)),
    ),
    element("label", { for: "key-days" }, t("Valid for (days)")),
    days,
    trouble,
  );
  const dialog = showDialog(t("New key"), form, [
    button(t("Cancel"), { onclick: () => dialog.close() }),
    button(t("Create key"), { kind: "primary", type: "submit", form: "key-form" }),
  ]);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    const scopes = boxes.filter((box) => box.checked).map((box) => box.value);
    try {
      const made = await postJson("/v1/keys", {
        name: name.value,
        scopes,
        ...(days.value ? { days: Number(days.value) } : {}),
      });
      if (first) key.set(made.key);
      dialog.close();
      showOnce(made, first);
      await loadStatus();
      if (state.may("admin")) await keysSection(holder);
    } catch (error) {
      trouble.textContent = `${error.message}. ${error.remedy || ""}`;
    }
  });
}

function showOnce(made, inUse) {
  const field = element("textarea", {
    readonly: true,
    rows: "2",
    class: "wide mono",
    "aria-label": t("The key"),
    spellcheck: "false",
    value: made.key,
  });
  const copy = button(t("Copy"), {
    picture: "copy",
    kind: "primary",
    onclick: () =>
      navigator.clipboard.writeText(made.key).then(
        () => (copy.lastChild.textContent = t("Copied")),
        () => field.select(),
      ),
  });
  const dialog = showDialog(
    t("Keep this key"),
    element(
      "div",
      { class: "stack" },
      element("p", {}, t("It is shown only once. Copy it now.")),
      field,
      inUse && element("p", { class: "small soft" }, t("This tab uses it already.")),
    ),
    [copy, button(t("Done"), { onclick: () => dialog.close() })],
  );
  field.select();
}
