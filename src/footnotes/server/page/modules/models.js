/** Connected models: listed in the settings, chosen at the question field. */

import { announce, button, element, fill } from "./dom.js";
import { getJson, putJson, remove } from "./api.js";
import { state } from "./state.js";
import { loadStatus } from "./status.js";
import { withUndo } from "./undo.js";
import { t } from "./language.js";

export const QUOTATIONS = "extractive";

class Connections extends EventTarget {
  /** @type {any[]} */
  all = [];
  mayConnect = false;
  serverModel = QUOTATIONS;
  /** @type {Record<string, string>} */
  providers = {};
  #loaded = false;

  constructor() {
    super();
    state.on("status", () => !this.#loaded && this.load());
  }

  async load({ again = false } = {}) {
    this.#loaded = true;
    try {
      const found = await getJson("/v1/models/connections");
      this.all = found.connections;
      this.mayConnect = found.may_connect;
      this.serverModel = found.server_model;
      this.providers = found.providers;
      this.changed();
      if (again) await loadStatus();
    } catch {
      this.#loaded = false;
    }
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  on(action) {
    this.addEventListener("change", action);
  }

  /** Whether the list is loaded. */
  get isKnown() {
    return Object.keys(this.providers).length > 0;
  }

  /** Whether any model can answer, not only quotations. */
  get isAny() {
    return this.all.length > 0 || this.serverModel !== QUOTATIONS;
  }
}

export const connections = new Connections();

export async function connectModel() {
  const { showConnecting } = await import("./connecting.js");
  showConnecting();
}

/** The card of the settings. */
export function modelsCard(holder) {
  const draw = () =>
    fill(
      holder,
      element(
        "div",
        { class: "row" },
        element("h2", { class: "grow" }, t("Models that answer")),
        connections.mayConnect && button(t("Connect a model"), { picture: "plus", onclick: connectModel }),
      ),
      connections.all.length > 0
        ? element("ul", { class: "keys" }, connections.all.map(row))
        : element(
            "p",
            { class: "small soft" },
            connections.serverModel === QUOTATIONS
              ? t("No model is connected: answers are quotations, word for word.")
              : t("{model}, the default of the server.", { model: connections.serverModel }),
          ),
    );
  connections.on(draw);
  draw();
}

function row(one) {
  const choose = async () => {
    await putJson(`/v1/models/connections/${one.id}`, { is_default: true });
    await connections.load({ again: true });
    announce(t("{name} answers from now on.", { name: one.name }));
  };
  const drop = () => {
    const before = connections.all;
    connections.all = before.filter((each) => each !== one);
    connections.changed();
    withUndo(t("Disconnected {name}.", { name: one.name }), {
      undo: () => ((connections.all = before), connections.changed()),
      send: async (leaving) => {
        await remove(`/v1/models/connections/${one.id}`, { keepalive: leaving }).catch(() => {});
        if (!leaving) await connections.load({ again: true });
      },
    });
  };
  const kept = { sealed: t("key kept encrypted"), environment: t("key from {name}", { name: one.key_env }) }[one.key] || "";
  return element(
    "li",
    { class: "row" },
    element(
      "span",
      { class: "grow" },
      element("strong", {}, one.name),
      element("span", { class: "small soft under-name" }, [one.base_url || one.path, kept].filter(Boolean).join(" · ")),
    ),
    one.is_default
      ? element("span", { class: "small soft" }, t("answers"))
      : connections.mayConnect && button(t("Use"), { kind: "quiet", onclick: choose }),
    connections.mayConnect &&
      button(t("Disconnect {name}", { name: one.name }), { picture: "bin", only: true, kind: "quiet", onclick: drop }),
  );
}

/** The model choice at the question field. `value` is sent to the server; empty means its default. */
export class ModelPicker {
  #wanted = "";

  constructor() {
    const chosen = () => (this.#wanted = this.select.value);
    this.select = element("select", { class: "small", "aria-label": t("Model"), onchange: chosen });
    this.connect = button(t("Connect a model"), { kind: "link", onclick: connectModel });
    this.root = element("span", { class: "row picker", hidden: true }, this.select, this.connect);
    connections.on(() => this.#draw());
  }

  get value() {
    return this.select.hidden ? "" : this.select.value;
  }

  /** Kept even while the list is loading. */
  set value(wanted) {
    this.#wanted = wanted;
    this.select.value = wanted;
    if (this.select.selectedIndex < 0) this.select.value = "";
  }

  #draw() {
    const usual = connections.all.find((one) => one.is_default)?.name || connections.serverModel;
    const others = connections.all.filter((one) => !one.is_default).map((one) => [one.id, one.name]);
    const entries = [["", usual], ...others, [QUOTATIONS, t("Quotations only")]];
    fill(
      this.select,
      entries.map(([value, words]) => element("option", { value }, words)),
    );
    this.value = this.#wanted;
    this.select.hidden = !connections.isAny;
    this.connect.hidden = connections.isAny || !connections.mayConnect;
    this.root.hidden = this.select.hidden && this.connect.hidden;
  }
}
