/** What was done on the way to an answer, in words. */

import { element } from "./dom.js";
import { count, t } from "./language.js";
import { connections } from "./models.js";
import { plainWords } from "./plain.js";
import { pageOf, sentence, shortened } from "./words.js";

/** One line for all of it: `Searched “…”, read 5 passages from 3 documents`. */
export function summaryOf(steps, hits) {
  const documents = new Set(hits.map((hit) => hit.document_id)).size;
  const last = steps.findLast((step) => step.type === "action");
  const read = hits.length > 0 ? t("read {passages} from {documents}", { passages: count(hits.length, "passage"), documents: count(documents, "document") }) : "";
  return [last ? describe(last) : t("Searched your documents"), read].filter(Boolean).join(", ");
}

/** The steps one by one; without any, the first passages that were read. */
export function rowsOf(steps, hits) {
  if (steps.length > 0) return steps.map(stepRow);
  return hits.slice(0, 6).map((hit) => {
    const place = hit.pages ? `${hit.filename}, ${pageOf(hit.pages[0])}` : hit.filename;
    return element("li", {}, `${place}: ${shortened(plainWords(hit), 110)}`);
  });
}

function describe(step) {
  const query = step.tool_input?.query || step.tool_input?.question;
  if (step.tool === "search" && query) return t("Searched “{words}”", { words: shortened(String(query), 60) });
  return step.tool ? t("Used {tool}", { tool: step.tool.replace(/_/g, " ") }) : shortened(step.text, 80);
}

function stepRow(step) {
  if (step.type === "action") return element("li", {}, describe(step));
  if (step.type === "thought") return element("li", {}, step.text);
  const output = typeof step.tool_output === "string" ? step.tool_output : JSON.stringify(step.tool_output, null, 1);
  return element(
    "li",
    {},
    element(
      "details",
      {},
      element("summary", {}, t("Found")),
      element("pre", { tabindex: "0" }, output || step.text || t("nothing")),
    ),
  );
}

/** Why the model did not write an answer, if one was asked for and failed. */
export function modelFailure(answer) {
  const leg = answer?.legs?.model;
  return leg?.status === "failed" ? leg.reason || t("no reason was given") : "";
}

/** What kind of answer it is, in a sentence; nothing for one that needs no words. */
export function kindOf(answer) {
  const failure = modelFailure(answer);
  const written = answer.model && answer.model !== "extractive" && !failure;
  const without = !failure && !written;
  if (answer.kind === "nothing") return "";
  if (without && !connections.isAny) return t("No model is connected: these are the closest passages.");
  if (answer.kind === "passages") return t("No sentence answers this for certain: these are the closest passages.");
  if (!written) return t("These are quotations.");
  return proof(answer);
}

function counted(answer) {
  const doubtful = new Set([...(answer.unsupported || []), ...(answer.uncertain || [])].map((span) => span[0]));
  const proved = new Set(answer.citations.map((citation) => citation.answer_span[0]).filter((at) => !doubtful.has(at)));
  return { proved: proved.size, all: new Set([...proved, ...doubtful]).size };
}

/** `5 of 6 sentences proved`. */
function proof(answer) {
  const { proved, all } = counted(answer);
  return all > 0 ? t("{number} of {sentences} proved.", { number: proved, sentences: count(all, "sentence") }) : "";
}

/** Whether less than half of an answer is proved: then the passages speak for themselves. */
export function isDoubtful(answer) {
  const { proved, all } = counted(answer);
  return proved < all / 2;
}

/** Why an answer has no end although nothing failed. */
export function cutWords(answer) {
  const circles = answer.steps.some((step) => /repeating itself/.test(step.text));
  return circles
    ? t("The model went on repeating itself and was stopped.")
    : t("The answer is as long as the model may write (max_tokens).");
}

/** Why an answer is not all it could be. */
export function notices(answer) {
  if (!answer.degraded) return "";
  const down = Object.entries(answer.legs).filter(
    ([name, leg]) => name !== "model" && (leg.status === "failed" || leg.status === "pending"),
  );
  return down.map(([name, leg]) => sentence(leg.reason || t("the {leg} leg did not run", { leg: name }))).join(" ");
}
