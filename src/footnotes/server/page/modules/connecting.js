/** Connects a model: provider, address, key, test, choose. No file to edit, no restart. */

import { announce, button, element, fill, nextId, showDialog } from "./dom.js";
import { getJson, postJson } from "./api.js";
import { connections } from "./models.js";
import { duration, sentence } from "./words.js";
import { count, t } from "./language.js";

const NAMES = {
  openai: "OpenAI",
  anthropic: "Anthropic",
  gemini: "Gemini",
  cohere: "Cohere",
  ollama: "Ollama",
  compatible: t("Another OpenAI-compatible server"),
  llama: t("A GGUF file on the server"),
};

export function showConnecting() {
  const form = new ConnectForm();
  const dialog = showDialog(t("Connect a model"), form.root, [], { className: "connecting" });
  form.onDone = () => dialog.close();
  form.look();
}

class ConnectForm {
  onDone = () => {};

  constructor() {
    const known = connections.providers;
    this.provider = element(
      "select",
      { onchange: () => this.#changed() },
      Object.keys(known).map((name) => element("option", { value: name }, NAMES[name] || name)),
    );
    this.address = element("input", { type: "url", maxlength: "500", autocomplete: "off", spellcheck: "false" });
    this.path = element("input", { type: "text", maxlength: "1000", autocomplete: "off", placeholder: "/models/model.gguf" });
    this.key = element("input", { type: "password", maxlength: "1000", autocomplete: "off" });
    const listed = `models-${nextId()}`;
    this.model = element("input", { type: "text", list: listed, maxlength: "300", autocomplete: "off", spellcheck: "false" });
    this.list = element("datalist", { id: listed });
    this.found = element("div", { class: "found", hidden: true });
    this.result = element("p", { class: "small result", role: "status" });
    this.rows = {
      address: field(t("Address"), this.address),
      path: field(t("File"), this.path),
      key: field(t("Key"), this.key, t("It is sent only to this server, stored encrypted and never shown again. $OPENAI_API_KEY names a variable of the server instead.")),
      model: field(t("Model"), this.model),
    };
    this.save = button(t("Connect"), { kind: "primary", type: "submit" });
    this.lister = button(t("List models"), { kind: "quiet", onclick: () => this.#listModels() });
    this.root = element(
      "form",
      { class: "stack", onsubmit: (event) => (event.preventDefault(), this.#connect()) },
      this.found,
      field(t("Provider"), this.provider),
      this.rows.address,
      this.rows.path,
      this.rows.key,
      this.rows.model,
      this.list,
      this.result,
      element(
        "div",
        { class: "row end" },
        this.lister,
        button(t("Test"), { onclick: () => this.#test() }),
        this.save,
        button(t("Cancel"), { onclick: () => this.onDone() }),
      ),
    );
    this.key.addEventListener("change", () => this.#listModels());
    this.#changed();
  }

  #changed() {
    const provider = this.provider.value;
    const own = connections.providers[provider];
    this.rows.path.hidden = provider !== "llama";
    this.rows.key.hidden = provider === "llama" || provider === "ollama";
    this.rows.address.hidden = provider === "llama";
    this.rows.model.hidden = provider === "llama";
    this.lister.hidden = provider === "llama";
    this.address.placeholder = own || `${location.protocol}//127.0.0.1:8080/v1`;
    this.address.value = "";
    fill(this.list);
    this.result.textContent = "";
  }

  /** Other models on this machine: one click fills the form. */
  async look() {
    const { servers } = await getJson("/v1/models/connections/found").catch(() => ({ servers: [] }));
    this.found.hidden = servers.length === 0;
    fill(
      this.found,
      element("p", { class: "small soft" }, t("Found on this machine:")),
      servers.map((server) =>
        button(`${server.name}${server.models[0] ? `: ${server.models[0]}` : ""}`, {
          onclick: () => {
            this.provider.value = server.provider;
            this.#changed();
            this.address.value = server.base_url;
            this.#offer(server.models);
            this.save.focus();
          },
        }),
      ),
    );
  }

  #given() {
    const provider = this.provider.value;
    return {
      provider,
      base_url: this.address.value.trim(),
      path: provider === "llama" ? this.path.value.trim() : "",
      ...this.#givenKey(),
      model: this.rows.model.hidden ? "" : this.model.value.trim(),
    };
  }

  /** The key itself, or the name of a variable on the server that contains it. */
  #givenKey() {
    const given = this.rows.key.hidden ? "" : this.key.value.trim();
    return given.startsWith("$") ? { key: "", key_env: given.slice(1) } : { key: given, key_env: "" };
  }

  #offer(models) {
    fill(
      this.list,
      models.map((name) => element("option", { value: name })),
    );
    if (!this.model.value || !models.includes(this.model.value)) this.model.value = models[0] || "";
    this.#say(models.length > 0 ? t("{models} to choose from.", { models: count(models.length, "model") }) : t("The provider lists no models."));
  }

  async #listModels() {
    if (this.provider.value === "llama") return;
    await this.#trying(async () => {
      const { models, error } = await postJson("/v1/models/connections/models", this.#given());
      if (error) this.#say(`${sentence(error.message)} ${error.remedy}`, true);
      else this.#offer(models);
    });
  }

  async #test() {
    await this.#trying(async () => {
      const tried = await postJson("/v1/models/connections/test", this.#given());
      if (tried.ok) this.#say(t("It answers: “{words}” after {time}.", { words: tried.first, time: duration(tried.ms) }));
      else this.#say(`${sentence(tried.error.message)} ${tried.error.remedy}`, true);
    });
  }

  async #connect() {
    await this.#trying(async () => {
      const made = await postJson("/v1/models/connections", this.#given());
      await connections.load({ again: true });
      announce(t("{name} is connected and answers from now on.", { name: made.name }));
      this.onDone();
    });
  }

  async #trying(action) {
    this.#say(t("Asking…"));
    try {
      await action();
    } catch (error) {
      this.#say(`${sentence(error.message)} ${error.remedy || ""}`, true);
    }
  }

  #say(words, broken = false) {
    this.result.textContent = words;
    this.result.classList.toggle("failure", broken);
  }
}

function field(words, control, hint = "") {
  control.id ||= `field-${nextId()}`;
  return element(
    "div",
    { class: "field" },
    element("label", { for: control.id }, words),
    control,
    hint && element("span", { class: "small soft" }, hint),
  );
}
