/** Starts the page: finds out the caller's scopes on the server, then starts the views. */

import { icon } from "./dom.js";
import { onUnauthorized } from "./api.js";
import { AskView } from "./ask.js";
import { watchBanner } from "./banner.js";
import { ConversationList } from "./conversations.js";
import { jobs } from "./jobs.js";
import { LibraryView } from "./library.js";
import { showDocument } from "./document.js";
import { askForKey } from "./login.js";
import { t } from "./language.js";
import { connectModel, connections } from "./models.js";
import { showPalette } from "./palette.js";
import { panel } from "./panel.js";
import { spanIn } from "./reading.js";
import { rove } from "./rove.js";
import { SearchView } from "./search.js";
import { SettingsView } from "./settings.js";
import { Shelf } from "./shelf.js";
import { keepFocus, listenForShortcuts } from "./shortcuts.js";
import { state } from "./state.js";
import { keepFresh, loadStatus } from "./status.js";
import { acceptDrops, chooseFiles } from "./upload.js";

const PHONE = matchMedia("(max-width: 50rem)");
const NAMES = ["ask", "search", "library", "settings"];
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

/** The texts in the page itself. */
function translate() {
  for (const one of document.querySelectorAll("[data-words]")) one.textContent = t(one.textContent || "");
  for (const name of ["aria-label", "title"])
    for (const one of document.querySelectorAll(`body [${name}]`)) one.setAttribute(name, t(one.getAttribute(name) || ""));
}

class Page {
  current = "ask";

  constructor() {
    translate();
    for (const link of document.querySelectorAll("#views a"))
      link.prepend(icon(/** @type {any} */ (link.getAttribute("data-view"))));
    const talks = new ConversationList({
      onDeleted: () => this.views.ask.restart(),
      onNew: () => ((location.hash = "#/ask"), this.views.ask.restart()),
    });
    this.shelf = new Shelf(byId("shelf-body"), byId("shelf-foot"), talks.root);
    this.views = {
      ask: new AskView(byId("view-ask"), { onWritten: () => talks.load(), onOpened: (id) => talks.mark(id) }),
      search: new SearchView(byId("view-search")),
      library: new LibraryView(byId("view-library")),
      settings: new SettingsView(byId("view-settings")),
    };
    rove(byId("shelf"));
    watchBanner(byId("banner"));
    this.#folding();
    acceptDrops();
    this.talks = talks;
    keepFocus();
    listenForShortcuts({
      focus: () => this.#focus(),
      step: (direction) => this.current === "ask" && this.views.ask.step(direction),
      escape: (inField) => this.#escape(inField),
      find: () => panel.find(),
      zoom: (by) => panel.viewer?.zoom(by),
      copy: () => this.current === "ask" && this.views.ask.copy(),
      go: (view) => (location.hash = `#/${view}`),
      palette: () => this.#palette(),
    });
    addEventListener("hashchange", () => this.#route());
    // The hash names the view, so this link must not change it.
    document
      .querySelector(".skip")
      ?.addEventListener("click", (event) => (event.preventDefault(), byId("main").focus()));
  }

  async start() {
    onUnauthorized(() => this.#locked());
    this.#route();
    await this.#open();
    keepFresh();
  }

  async #open() {
    try {
      await loadStatus();
      jobs.follow();
      if (this.current === "settings") this.views.settings.show();
    } catch (error) {
      if (error.code === "unreachable") setTimeout(() => this.#open(), 2000);
    }
  }

  async #locked() {
    await askForKey();
    await this.#open();
    this.#route();
  }

  #route() {
    const [path, options] = location.hash.replace(/^#\/?/, "").split("?");
    const wanted = path.split("/")[0];
    const name = NAMES.includes(wanted) ? wanted : "ask";
    if (this.current !== name) panel.close();
    this.current = name;
    for (const one of NAMES) byId(`view-${one}`).hidden = one !== name;
    for (const link of document.querySelectorAll("#views a")) {
      if (link.getAttribute("data-view") === name) link.setAttribute("aria-current", "page");
      else link.removeAttribute("aria-current");
    }
    const words = { ask: "", search: t("Search"), library: t("Library"), settings: t("Settings") }[name];
    document.title = words ? `${words} · Footnotes` : "Footnotes";
    const [kind, id] = path.split("/");
    if (kind === "c" && id) this.views.ask.show(id);
    if (kind === "d" && id)
      showDocument(decodeURIComponent(id), { span: spanIn(new URLSearchParams(options || "").get("span")) });
    if (name === "library") this.views.library.show();
    if (name === "settings") this.views.settings.show();
    else this.views.settings.hide();
    const query = new URLSearchParams(options || "").get("q");
    if (name === "search" && query) this.views.search.find(query);
  }

  #focus() {
    return this.current === "search" ? this.views.search.focus() : this.#focusAsk();
  }

  #focusAsk() {
    if (this.current !== "ask") location.hash = "#/ask";
    byId("view-ask").hidden = false;
    this.views.ask.focus();
  }

  #escape(inField) {
    if (document.documentElement.dataset.drawer) return this.#drawer(false);
    const asking = this.current === "ask" && this.views.ask.isAsking;
    if (panel.holdsFocus && !panel.isOver) return panel.giveFocusBack();
    if (inField && !asking) return byId("main").focus();
    if (panel.isOpen) return panel.close();
    return this.views.ask.stop();
  }

  #palette() {
    const go = (hash) => () => (location.hash = hash);
    const actions = [
      { words: t("New conversation"), action: () => ((location.hash = "#/ask"), this.views.ask.restart()) },
      { words: t("Ask"), action: () => this.#focusAsk() },
      { words: t("Search"), action: go("#/search") },
      { words: t("Library"), action: go("#/library") },
      { words: t("Settings"), action: go("#/settings") },
      ...(connections.mayConnect ? [{ words: t("Connect a model"), action: connectModel }] : []),
      ...(state.may("write") ? [{ words: t("Add files"), action: () => chooseFiles(false) }] : []),
    ];
    showPalette(actions, this.talks.entries(), (id) => showDocument(id));
  }

  #folding() {
    const [fold, unfold] = [byId("fold"), byId("unfold")];
    fold.append(icon("fold"));
    unfold.append(icon("unfold"));
    const set = (folded, next) => {
      if (folded) document.documentElement.dataset.folded = "yes";
      else delete document.documentElement.dataset.folded;
      localStorage.setItem("footnotes.folded", folded ? "yes" : "no");
      next.focus();
    };
    fold.addEventListener("click", () => (PHONE.matches ? this.#drawer(false) : set(true, unfold)));
    unfold.addEventListener("click", () => (PHONE.matches ? this.#drawer(true) : set(false, fold)));
    byId("shelf").addEventListener("click", (event) => {
      if (/** @type {Element} */ (event.target).closest("a, .shelf-row")) this.#drawer(false);
    });
  }

  /** On a phone the shelf covers the page. */
  #drawer(open) {
    const root = document.documentElement;
    const was = Boolean(root.dataset.drawer);
    if (open) root.dataset.drawer = "yes";
    else delete root.dataset.drawer;
    if (open) byId("fold").focus();
    else if (was) byId("unfold").focus();
  }
}

new Page().start();
