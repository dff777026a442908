/** Forms of the library: fetch an address, create a collection, reindex. */

import { announce, button, confirmed, element, showDialog } from "./dom.js";
import { postJson, putJson, remove } from "./api.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { refreshStatus } from "./status.js";
import { count, t } from "./language.js";

/** A path on the server, on any system. */
const PATH = /^([/~]|[A-Za-z]:[\\/])/;
/** Seconds between two fetches of an address. */
const OFTEN = [
  [0, t("once")],
  [3_600, t("every hour")],
  [86_400, t("every day")],
  [604_800, t("every week")],
];

export function addAddress() {
  const field = element("input", {
    type: "text",
    inputmode: "url",
    required: true,
    maxlength: "2000",
    placeholder: "https://",
    id: "address",
    class: "wide",
    spellcheck: "false",
  });
  const often = element(
    "select",
    { id: "often" },
    OFTEN.map(([seconds, words]) => element("option", { value: seconds }, words)),
  );
  ask(
    t("Add an address"),
    [
      element("p", { class: "soft" }, t("A page or a sitemap, fetched by the server.")),
      element("label", { for: "address" }, t("Address")),
      field,
      state.may("admin") && [
        element("label", { for: "often" }, t("Read it")),
        often,
        element("p", { class: "small soft" }, t("If it is read repeatedly, it may also be a folder of the server or a repository (git+https).")),
      ],
    ],
    t("Add"),
    async () => {
      if (Number(often.value) > 0) return follow(field.value.trim(), Number(often.value));
      const { jobs: made } = await postJson("/v1/documents", {
        url: field.value,
        ...(state.collection ? { collection: state.collection } : {}),
      });
      for (const job of made) jobs.take(job);
      return undefined;
    },
  );
}

/** Let the server fetch an address regularly from now on. */
async function follow(given, every) {
  const address = PATH.test(given) ? `folder:${given}` : given;
  const made = await postJson("/v1/sources", { address, every, ...(state.collection ? { collection: state.collection } : {}) });
  state.changed("sources");
  announce(t("Now following {name}.", { name: made.address }));
}

export function reindex() {
  const chosen = state.collection;
  const words = chosen
    ? t("Every document of “{name}” is chunked and embedded again.", { name: chosen })
    : t("Every document is chunked and embedded again.");
  ask(
    t("Reindex"),
    [element("p", {}, `${words} ${t("The library answers from the current index until the new one is complete.")}`)],
    t("Reindex"),
    async () => {
      jobs.take(await postJson("/v1/reindex", chosen ? { collection: chosen } : {}));
    },
  );
}

const CHUNKERS = ["passages", "section", "sentence", "window", "rules", "semantic"];

/** Create a collection, or change its chunker and prompt; deleting it deletes its documents. */
export function editCollection() {
  const rows = state.status?.collections || [];
  const name = element("input", {
    id: "collection-name",
    required: true,
    maxlength: "200",
    list: "collection-names",
    class: "wide",
    value: state.collection || "",
  });
  const chunker = element(
    "select",
    { id: "collection-chunker" },
    element("option", { value: "" }, t("chosen by the type of document")),
    CHUNKERS.map((one) => element("option", { value: one }, one)),
  );
  const prompt = element("textarea", { id: "collection-prompt", rows: "3", class: "wide", maxlength: "20000" });
  const show = () => {
    const row = rows.find((one) => one.name === name.value);
    chunker.value = row?.chunker || "";
    prompt.value = row?.system_prompt || "";
  };
  name.addEventListener("input", show);
  show();
  const form = [
    element(
      "p",
      { class: "soft" },
      t("A collection is a named group of documents. New files go into the one chosen on the left."),
    ),
    element("label", { for: "collection-name" }, t("Name")),
    name,
    element(
      "datalist",
      { id: "collection-names" },
      rows.map((row) => element("option", { value: row.name })),
    ),
    element("label", { for: "collection-chunker" }, t("Chunker")),
    chunker,
    element("label", { for: "collection-prompt" }, t("Instructions for answers")),
    prompt,
  ];
  const dialog = ask(t("Collection"), form, t("Save"), async () => {
    await putJson(`/v1/collections/${encodeURIComponent(name.value)}`, {
      chunker: chunker.value || null,
      system_prompt: prompt.value || null,
    });
    state.setScope({ collections: [name.value] });
    refreshStatus();
  });
  dialog.querySelector(".row.end")?.prepend(
    button(t("Delete its documents"), {
      kind: "quiet danger",
      onclick: () => (dialog.close(), deleteCollection(name.value)),
    }),
  );
}

async function deleteCollection(name) {
  const row = state.status?.collections.find((one) => one.name === name);
  if (!row || row.documents === 0) return;
  if (
    !(await confirmed(
      t("Delete {documents}?", { documents: count(row.documents, "document") }),
      t("Everything in “{name}” is deleted permanently.", { name }),
      t("Delete"),
    ))
  )
    return;
  await remove(`/v1/collections/${encodeURIComponent(name)}`);
  state.setScope({});
  state.changed("documents");
  refreshStatus();
}

/** A form in a dialog, which shows errors. */
export function ask(title, content, words, action) {
  const trouble = element("p", { class: "failure", role: "alert" });
  const form = element("form", { class: "stack", id: "dialog-form" }, content, trouble);
  const go = button(words, { kind: "primary", type: "submit", form: "dialog-form" });
  const dialog = showDialog(title, form, [button(t("Cancel"), { onclick: () => dialog.close() }), go]);
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    go.disabled = true;
    try {
      await action();
      dialog.close();
    } catch (error) {
      trouble.textContent = `${error.message}. ${error.remedy || ""}`;
      go.disabled = false;
    }
  });
  return dialog;
}
