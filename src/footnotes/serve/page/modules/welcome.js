/** Before the first question: how to add the first file, or what could be asked of what is there. */

import { button, element, fill } from "./dom.js";
import { getJson } from "./api.js";
import { chooseFiles } from "./upload.js";
import { state } from "./state.js";
import { count, shortened } from "./words.js";

const LISTED = 40;
const LOOKED_AT = 6;
const SAMPLES = 3;

export function welcome(documents, onAsk) {
  return documents === 0 ? empty() : filled(documents, onAsk);
}

function empty() {
  const may = state.may("write");
  return element(
    "div",
    { class: "welcome" },
    element("h1", {}, "Answers that show where they come from."),
    element(
      "p",
      { class: "lead" },
      "The library is empty. Drop files or a whole folder anywhere on this page, and ask.",
    ),
    may &&
      element(
        "div",
        { class: "row" },
        button("Choose files", { kind: "primary", onclick: () => chooseFiles(false) }),
        button("Choose a folder", { onclick: () => chooseFiles(true) }),
      ),
    element(
      "ol",
      { class: "how" },
      element(
        "li",
        {},
        "Add PDF, Markdown, Word, slides, sheets, mail, web pages, notebooks or code. They stay on this server.",
      ),
      element(
        "li",
        {},
        "A document is found by its words as soon as its text is in, and by its meaning a moment later.",
      ),
      element(
        "li",
        {},
        "Each sentence of an answer carries a footnote. Open it and the source stands beside it, the sentence marked.",
      ),
    ),
  );
}

function filled(documents, onAsk) {
  const list = element("ul", { class: "samples" });
  const heading = element("h2", { hidden: true }, "For instance");
  offer(list, heading, onAsk);
  return element(
    "div",
    { class: "welcome" },
    element("h1", {}, "What would you like to know?"),
    element(
      "p",
      { class: "lead" },
      `${count(documents, "document")} to answer from. Each sentence will carry a footnote to the exact words it came from.`,
    ),
    heading,
    list,
  );
}

/** Questions made of headings that are really there, from different documents. */
async function offer(list, heading, onAsk) {
  try {
    const { collection, document: only } = state.scope;
    const scope = collection ? `&collection=${encodeURIComponent(collection)}` : "";
    const { documents } = only ? { documents: [{ ...only, status: "ready" }] } : await getJson(`/v1/documents?limit=${LISTED}${scope}`);
    const ready = documents.filter((one) => one.status === "ready").slice(0, LOOKED_AT);
    const found = await Promise.allSettled(
      ready.map((one) => getJson(`/v1/documents/${encodeURIComponent(one.id)}/chunks?limit=40`)),
    );
    const questions = choose(found.map((one) => (one.status === "fulfilled" ? headingsOf(one.value.chunks) : [])));
    heading.hidden = questions.length === 0;
    fill(
      list,
      questions.map((question) =>
        element("li", {}, element("button", { type: "button", onclick: () => onAsk(question) }, question)),
      ),
    );
  } catch {
    // Samples are a courtesy: the page works without them.
  }
}

function headingsOf(chunks) {
  const last = chunks
    .map((chunk) => chunk.headings.at(-1))
    .filter((heading) => heading && heading.length < 60 && readsAsTopic(heading));
  return [...new Set(last)].slice(1);
}

/** Whether a heading names something a person would ask about: not a cover's capitals, a form's note or code. */
function readsAsTopic(heading) {
  if (heading.length < 4 || /[_(){}<>=|\\/]|\d{4}/.test(heading)) return false;
  return heading !== heading.toUpperCase() && /\p{Ll}{3}/u.test(heading);
}

/** One of each document in turn, until there are enough. */
function choose(lists) {
  const questions = [];
  for (let round = 0; round < 8 && questions.length < SAMPLES; round += 1) {
    for (const list of lists) if (list[round] && questions.length < SAMPLES) questions.push(asQuestion(list[round]));
  }
  return questions;
}

function asQuestion(heading) {
  const words = shortened(heading.replace(/^[\d.\s]+/, ""), 60);
  return /^(what|how|why|when|who|where|which)\b/i.test(words)
    ? `${words.replace(/[?.:]*$/, "")}?`
    : `What about “${words}”?`;
}
