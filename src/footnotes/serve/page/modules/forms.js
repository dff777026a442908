/** Forms of the library: an address to fetch, a collection, a new index. */

import { button, confirmed, element, showDialog } from "./dom.js";
import { postJson, putJson, remove } from "./api.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { refreshStatus } from "./status.js";
import { count } from "./words.js";

export function addAddress() {
  const field = element("input", {
    type: "url",
    required: true,
    placeholder: "https://",
    id: "address",
    class: "wide",
  });
  ask(
    "Add an address",
    [
      element("p", { class: "soft" }, "A page or a sitemap, fetched by the server."),
      element("label", { for: "address" }, "Address"),
      field,
    ],
    "Add",
    async () => {
      const { jobs: made } = await postJson("/v1/documents", {
        url: field.value,
        ...(state.scope.collection ? { collection: state.scope.collection } : {}),
      });
      for (const job of made) jobs.take(job);
    },
  );
}

export function reindex() {
  const chosen = state.scope.collection;
  const words = chosen
    ? `Every document of “${chosen}” is cut and embedded anew.`
    : "Every document is cut and embedded anew.";
  ask(
    "Reindex",
    [element("p", {}, `${words} The library answers from what it has until the new index is complete.`)],
    "Reindex",
    async () => {
      jobs.take(await postJson("/v1/reindex", chosen ? { collection: chosen } : {}));
    },
  );
}

const CHUNKERS = ["passages", "section", "sentence", "window", "rules", "semantic"];

/** Make a collection, or choose how one is cut and answered; deleting it deletes its documents. */
export function editCollection() {
  const rows = state.status?.collections || [];
  const name = element("input", {
    id: "collection-name",
    required: true,
    maxlength: "200",
    list: "collection-names",
    class: "wide",
    value: state.scope.collection || "",
  });
  const chunker = element(
    "select",
    { id: "collection-chunker" },
    element("option", { value: "" }, "chosen by the kind of document"),
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
      "A collection is a named group of documents. New files go into the one chosen on the left.",
    ),
    element("label", { for: "collection-name" }, "Name"),
    name,
    element(
      "datalist",
      { id: "collection-names" },
      rows.map((row) => element("option", { value: row.name })),
    ),
    element("label", { for: "collection-chunker" }, "Cut into chunks"),
    chunker,
    element("label", { for: "collection-prompt" }, "Instructions for answers"),
    prompt,
  ];
  const dialog = ask("Collection", form, "Save", async () => {
    await putJson(`/v1/collections/${encodeURIComponent(name.value)}`, {
      chunker: chunker.value || null,
      system_prompt: prompt.value || null,
    });
    state.setScope({ collection: name.value });
    refreshStatus();
  });
  dialog.querySelector(".row.end")?.prepend(
    button("Delete its documents", {
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
      `Delete ${count(row.documents, "document")}?`,
      `Everything in “${name}” goes for good.`,
      "Delete",
    ))
  )
    return;
  await remove(`/v1/collections/${encodeURIComponent(name)}`);
  state.setScope({ collection: null });
  state.changed("documents");
  refreshStatus();
}

/** A form in a dialog; what goes wrong is said in it. */
function ask(title, content, words, action) {
  const trouble = element("p", { class: "failure", role: "alert" });
  const form = element("form", { class: "stack", id: "dialog-form" }, content, trouble);
  const go = button(words, { kind: "primary", type: "submit", form: "dialog-form" });
  const dialog = showDialog(title, form, [button("Cancel", { onclick: () => dialog.close() }), go]);
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
