/** Shown before the first question: how to add a first file, or sample questions on the documents. */

import { button, element, fill } from "./dom.js";
import { getJson } from "./api.js";
import { chooseFiles } from "./upload.js";
import { state } from "./state.js";
import { count, t } from "./language.js";

export function welcome(documents, onAsk) {
  return documents === 0 ? empty() : filled(documents, onAsk);
}

function empty() {
  const may = state.may("write");
  return element(
    "div",
    { class: "welcome" },
    element("h1", {}, t("Answers that show where they come from.")),
    element(
      "p",
      { class: "lead" },
      t("The library is empty. Drop files or a whole folder anywhere on this page, and ask."),
    ),
    may &&
      element(
        "div",
        { class: "row" },
        button(t("Choose files"), { kind: "primary", onclick: () => chooseFiles(false) }),
        button(t("Choose a folder"), { onclick: () => chooseFiles(true) }),
      ),
    element(
      "ol",
      { class: "how" },
      element(
        "li",
        {},
        t("Add PDF, Markdown, Word, slides, sheets, mail, web pages, notebooks or code. They stay on this server."),
      ),
      element(
        "li",
        {},
        t("A document is found by its words as soon as its text is stored, and by its meaning a moment later."),
      ),
      element(
        "li",
        {},
        t("Each sentence of an answer has a footnote. Open it to see the source beside the answer, with the sentence marked."),
      ),
    ),
  );
}

function filled(documents, onAsk) {
  const list = element("ul", { class: "samples" });
  const heading = element("h2", { hidden: true }, t("For example"));
  offer(list, heading, onAsk);
  return element(
    "div",
    { class: "welcome" },
    element("h1", {}, t("What would you like to know?")),
    element(
      "p",
      { class: "lead" },
      t("{documents} to answer from. Each sentence will have a footnote to the exact words it came from.", { documents: count(documents, "document") }),
    ),
    heading,
    list,
  );
}

/** Sample questions from different documents. */
async function offer(list, heading, onAsk) {
  try {
    const { collection, where } = state.filter();
    const query = new URLSearchParams({
      ...(collection ? { collection } : {}),
      ...(where ? { where: JSON.stringify(where) } : {}),
    });
    const { questions } = await getJson(`/v1/questions?${query}`);
    heading.hidden = questions.length === 0;
    fill(
      list,
      questions.map(asQuestion).map((question) =>
        element("li", {}, element("button", { type: "button", dir: "auto", onclick: () => onAsk(question) }, question)),
      ),
    );
  } catch {
    // The page works without samples.
  }
}

function asQuestion({ kind, topic, document: name }) {
  if (kind === "question") return `${topic.replace(/[?.:؟？]*$/, "")}${/[؟？]$/.exec(topic)?.[0] || "?"}`;
  return kind === "definition" ? t("What is {topic}?", { topic: topic.charAt(0).toLowerCase() + topic.slice(1) }) : t("What does “{name}” say about {topic}?", { name, topic });
}
