/** The folders of documents as a tree; a branch is drawn when it is opened. */

import { button, element, fill } from "./dom.js";
import { figure, t } from "./language.js";

export class FolderTree {
  #signature = "";

  /** @param {(folder: string) => void} onPick */
  constructor(onPick) {
    this.onPick = onPick;
    this.chosen = "";
    this.root = element("nav", { class: "folders", "aria-label": t("Folders"), hidden: true });
  }

  /** @param {Map<string, number>} counts @param {string} chosen */
  draw(counts, chosen) {
    this.chosen = chosen;
    this.root.hidden = counts.size === 0;
    const signature = JSON.stringify([chosen, counts.size, [...counts.values()].reduce((sum, one) => sum + one, 0)]);
    if (signature === this.#signature) return;
    this.#signature = signature;
    const below = new Map();
    for (const folder of [...counts.keys()].sort()) {
      const parent = folder.slice(0, Math.max(0, folder.lastIndexOf("/")));
      below.set(parent, [...(below.get(parent) || []), folder]);
    }
    fill(this.root, this.#pick("", t("All folders"), ""), this.#branch("", below, counts));
  }

  #branch(parent, below, counts) {
    return element(
      "ul",
      {},
      (below.get(parent) || []).map((folder) => element("li", {}, this.#folder(folder, below, counts))),
    );
  }

  #folder(folder, below, counts) {
    const name = folder.slice(folder.lastIndexOf("/") + 1);
    const line = this.#pick(folder, name, figure(counts.get(folder)));
    if (!below.has(folder)) return element("div", { class: "folder-line" }, line);
    const branch = element("div", { hidden: true });
    const unfold = (open) => {
      if (open && branch.children.length === 0) branch.append(this.#branch(folder, below, counts));
      branch.hidden = !open;
      fold.setAttribute("aria-expanded", String(open));
    };
    const fold = button(t("Folders in {name}", { name }), {
      picture: "next",
      only: true,
      kind: "quiet fold",
      "aria-expanded": "false",
      onclick: () => unfold(branch.hidden),
    });
    unfold(this.chosen === folder || this.chosen.startsWith(`${folder}/`));
    return [element("div", { class: "folder-line" }, fold, line), branch];
  }

  #pick(folder, words, number) {
    const pick = button(words, { kind: "quiet folder", "aria-pressed": String(folder === this.chosen), title: folder || null, onclick: () => this.onPick(folder) });
    if (number) pick.append(element("span", { class: "number" }, number));
    return pick;
  }
}
