/** The beginning: finds out who we are to the server, then brings the views to life. */

import { icon } from "./dom.js";
import { onUnauthorized } from "./api.js";
import { AskView } from "./ask.js";
import { watchBanner } from "./banner.js";
import { ConversationList } from "./conversations.js";
import { jobs } from "./jobs.js";
import { LibraryView } from "./library.js";
import { showDocument } from "./document.js";
import { askForKey } from "./login.js";
import { panel } from "./panel.js";
import { spanIn } from "./reading.js";
import { SearchView } from "./search.js";
import { SettingsView } from "./settings.js";
import { Shelf } from "./shelf.js";
import { listenForShortcuts } from "./shortcuts.js";
import { keepFresh, loadStatus } from "./status.js";
import { acceptDrops } from "./upload.js";

const NAMES = ["ask", "search", "library", "settings"];
const byId = (id) => /** @type {HTMLElement} */ (document.getElementById(id));

class Page {
  current = "ask";

  constructor() {
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
    watchBanner(byId("banner"));
    this.#folding();
    acceptDrops();
    listenForShortcuts({
      focus: () => this.#focus(),
      step: (direction) => this.current === "ask" && this.views.ask.step(direction),
      escape: () => this.#escape(),
    });
    addEventListener("hashchange", () => this.#route());
    // The address after # names the view, so this one link must not change it.
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
    const words = { ask: "", search: "Search · ", library: "Library · ", settings: "Settings · " }[name];
    document.title = `${words}Footnotes`;
    const [kind, id] = path.split("/");
    if (kind === "c" && id) this.views.ask.show(id);
    if (kind === "d" && id)
      showDocument(decodeURIComponent(id), { span: spanIn(new URLSearchParams(options || "").get("span")) });
    if (name === "settings") this.views.settings.show();
    else this.views.settings.hide();
    const query = new URLSearchParams(options || "").get("q");
    if (name === "search" && query) this.views.search.find(query);
  }

  #focus() {
    if (this.current === "search") return this.views.search.focus();
    if (this.current !== "ask") location.hash = "#/ask";
    byId("view-ask").hidden = false;
    return this.views.ask.focus();
  }

  #escape() {
    if (panel.isOpen) panel.close();
    else this.views.ask.stop();
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
    fold.addEventListener("click", () => set(true, unfold));
    unfold.addEventListener("click", () => set(false, fold));
  }
}

new Page().start();
