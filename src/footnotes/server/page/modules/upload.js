/** Uploads of files and folders, dropped anywhere or selected, a few at a time. */

import { announce, element } from "./dom.js";
import { upload } from "./api.js";
import { jobs } from "./jobs.js";
import { state } from "./state.js";
import { count, t } from "./language.js";

const MOST_FILES = 12;
const MOST_BYTES = 24_000_000;
const HIDDEN = /(^|\/)(\.|__MACOSX\/|node_modules\/|Thumbs\.db$)/;

/** @typedef {{file: File, path: string}} Handed a file and its path within what was dropped */
/** @typedef {{id: number, files: Handed[], collection: string | null, share: number, error: any, started?: boolean, final?: boolean}} Transfer */

class Transfers extends EventTarget {
  /** @type {Transfer[]} under way or failed */
  all = [];
  #next = 0;
  #running = 0;

  onChange(action) {
    this.addEventListener("change", action);
  }

  changed() {
    this.dispatchEvent(new Event("change"));
  }

  /** @param {Handed[]} files */
  add(files) {
    const wanted = files.filter(({ path }) => !HIDDEN.test(path));
    if (wanted.length === 0) return this.#leaveOut(files);
    const { collection } = state;
    for (const batch of batches(wanted))
      this.all.push({ id: (this.#next += 1), files: batch, collection, share: 0, error: null });
    announce(t("Uploading {files}.", { files: count(wanted.length, "file") }));
    // A conversation is not taken away; the number at the library tells what goes on.
    if (!document.querySelector("#view-ask .turn")) location.hash = "#/library";
    this.changed();
    this.#run();
  }

  /** Only hidden files were dropped: say so instead of doing nothing. */
  #leaveOut(files) {
    if (files.length === 0) return;
    const remedy = t("Hidden files and folders are not added. Rename it to add it.");
    const error = { message: t("it was skipped"), remedy };
    this.all.push({ id: (this.#next += 1), files, collection: null, share: 0, error, final: true });
    location.hash = "#/library";
    this.changed();
  }

  retry(transfer) {
    transfer.error = null;
    transfer.share = 0;
    this.changed();
    this.#run();
  }

  dismiss(transfer) {
    this.all = this.all.filter((one) => one !== transfer);
    this.changed();
  }

  /** One rejected file must not block the others in its request: send them again one by one. */
  #failed(transfer, error) {
    if (transfer.files.length > 1 && error.status > 0) {
      const single = transfer.files.map((one) => ({
        ...transfer,
        id: (this.#next += 1),
        files: [one],
        share: 0,
        started: false,
      }));
      this.all = this.all.flatMap((one) => (one === transfer ? single : [one]));
    } else {
      Object.assign(transfer, { error, started: false });
    }
  }

  async #run() {
    const next = this.all.find((one) => !one.error && !one.started);
    if (!next || this.#running >= 2) return;
    this.#running += 1;
    next.started = true;
    try {
      const answer = await upload(next.files, next.collection, (share) => ((next.share = share), this.changed()));
      this.all = this.all.filter((one) => one !== next);
      for (const job of answer.jobs) jobs.take(job);
    } catch (error) {
      this.#failed(next, error);
    }
    this.#running -= 1;
    this.changed();
    this.#run();
  }
}

export const transfers = new Transfers();

function batches(files) {
  const made = [];
  let size = Infinity;
  for (const one of files) {
    if (size + one.file.size > MOST_BYTES || made.at(-1).length >= MOST_FILES) {
      made.push([]);
      size = 0;
    }
    made.at(-1).push(one);
    size += one.file.size;
  }
  return made;
}

/** Open the system's file dialog. */
export function chooseFiles(folder) {
  const input = element("input", { type: "file", multiple: true, hidden: true, "data-upload": "" });
  if (folder) input.webkitdirectory = true;
  input.addEventListener("change", () => {
    transfers.add([...(input.files || [])].map((file) => ({ file, path: file.webkitRelativePath || file.name })));
    input.remove();
  });
  input.addEventListener("cancel", () => input.remove());
  document.body.append(input);
  input.click();
}

/** Let files be dropped anywhere on the page. */
export function acceptDrops() {
  const veil = element("div", { class: "dropping", hidden: true }, element("p", {}, t("Drop to add to the library")));
  document.getElementById("main")?.append(veil);
  const hasFiles = (event) => state.may("write") && [...(event.dataTransfer?.types || [])].includes("Files");
  let depth = 0;
  const show = (on) => (veil.hidden = !on);
  addEventListener("dragenter", (event) => hasFiles(event) && ((depth += 1), show(true)));
  addEventListener("dragleave", (event) => hasFiles(event) && ((depth -= 1), show(depth > 0)));
  addEventListener("dragover", (event) => hasFiles(event) && event.preventDefault());
  addEventListener("drop", async (event) => {
    if (!hasFiles(event)) return;
    event.preventDefault();
    depth = 0;
    show(false);
    transfers.add(await filesOf(/** @type {DataTransfer} */ (event.dataTransfer)));
  });
}

/** All files of a drop, including those in folders. The entries must be read before the first await. */
async function filesOf(transfer) {
  const items = [...transfer.items].filter((item) => item.kind === "file");
  const entries = items.map((item) => item.webkitGetAsEntry?.());
  if (entries.every(Boolean)) return (await Promise.all(entries.map(walk))).flat();
  return [...transfer.files].map((file) => ({ file, path: file.name }));
}

async function walk(entry) {
  if (entry.isFile) {
    const file = await new Promise((resolve, reject) => entry.file(resolve, reject)).catch(() => null);
    return file ? [{ file, path: entry.fullPath.replace(/^\//, "") }] : [];
  }
  const reader = entry.createReader();
  const found = [];
  for (;;) {
    // Entries of a folder come in batches, until one is empty.
    const part = await new Promise((resolve, reject) => reader.readEntries(resolve, reject)).catch(() => []);
    if (part.length === 0) break;
    for (const inner of part) found.push(...(await walk(inner)));
  }
  return found;
}
