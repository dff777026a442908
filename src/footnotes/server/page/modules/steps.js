/** The steps towards an answer, as text. */

import { element } from "./dom.js";
import { count, t } from "./language.js";
import { connections } from "./models.js";
import { plainWords } from "./plain.js";
import { pageOf, sentence, shortened } from "./words.js";

/** A summary in one line: `Searched “…”, read 5 passages from 3 documents`. */
export function summaryOf(steps, hits) {
  const documents = new Set(hits.map((hit) => hit.document_id)).size;
  const last = steps.findLast((step) => step.type === "action");
  const read = hits.length > 0 ? t("read {passages} from {documents}", { passages: count(hits.length, "passage"), documents: count(documents, "document") }) : "";
  return [last ? describe(last) : t("Searched your documents"), read].filter(Boolean).join(", ");
}

/** The single steps; if there are none, the first passages read. */
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

/** The kind of the answer in a sentence; empty if it needs no explanation. */
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

/** Whether less than half of an answer is supported: then the passages are shown too. */
export function isDoubtful(answer) {
  const { proved, all } = counted(answer);
  return proved < all / 2;
}

/** Why an answer breaks off although nothing failed. */
export function cutWords(answer) {
  const circles = answer.steps.some((step) => /repeating itself/.test(step.text));
  return circles
    ? t("The model kept repeating itself and was stopped.")
    : t("The answer reached the length that the model may write (max_tokens).");
}

/** Why an answer is incomplete. */
export function notices(answer) {
  if (!answer.degraded) return "";
  const down = Object.entries(answer.legs).filter(
    ([name, leg]) => name !== "model" && (leg.status === "failed" || leg.status === "pending"),
  );
  return down.map(([name, leg]) => sentence(leg.reason || t("the {leg} leg did not run", { leg: name }))).join(" ");
}
