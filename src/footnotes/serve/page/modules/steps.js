/** What was done on the way to an answer, in words. */

import { element } from "./dom.js";
import { count, sentence, shortened } from "./words.js";

/** One line for all of it: `Searched “…”, read 5 passages from 3 documents`. */
export function summaryOf(steps, hits) {
  const documents = new Set(hits.map((hit) => hit.document_id)).size;
  const last = steps.findLast((step) => step.type === "action");
  const read = hits.length > 0 ? `read ${count(hits.length, "passage")} from ${count(documents, "document")}` : "";
  return [last ? describe(last) : "Searched your documents", read].filter(Boolean).join(", ");
}

/** The steps one by one; without any, the first passages that were read. */
export function rowsOf(steps, hits) {
  if (steps.length > 0) return steps.map(stepRow);
  return hits.slice(0, 6).map((hit) => {
    const place = hit.pages ? `${hit.filename}, p. ${hit.pages[0]}` : hit.filename;
    return element("li", {}, `${place}: ${shortened(hit.text, 110)}`);
  });
}

function describe(step) {
  const query = step.tool_input?.query || step.tool_input?.question;
  if (step.tool === "search" && query) return `Searched “${shortened(String(query), 60)}”`;
  return step.tool ? `Used ${step.tool.replace(/_/g, " ")}` : shortened(step.text, 80);
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
      element("summary", {}, "Found"),
      element("pre", { tabindex: "0" }, output || step.text || "nothing"),
    ),
  );
}

/** Why the model did not write an answer, if one was asked for and failed. */
export function modelFailure(answer) {
  const leg = answer?.legs?.model;
  return leg?.status === "failed" ? leg.reason || "no reason was given" : "";
}

/** What kind of answer it is, in a sentence; nothing for one that needs no words. */
export function kindOf(answer) {
  const failure = modelFailure(answer);
  const written = answer.model && answer.model !== "extractive" && !failure;
  const why = failure ? "" : written ? "" : "No model is connected: ";
  if (answer.kind === "passages") return `${why || "No sentence answers this for certain: "}these are the closest passages.`;
  if (answer.kind === "nothing") return "";
  if (!written) return failure ? "These are quotations." : "Quoted word for word; no model is connected.";
  return proof(answer);
}

/** `5 of 6 sentences proved`. */
function proof(answer) {
  const doubtful = new Set([...(answer.unsupported || []), ...(answer.uncertain || [])].map((span) => span[0]));
  const proved = new Set(answer.citations.map((citation) => citation.answer_span[0]).filter((at) => !doubtful.has(at)));
  const all = new Set([...proved, ...doubtful]).size;
  return all > 0 ? `${proved.size} of ${count(all, "sentence")} proved.` : "";
}

/** Why an answer is not all it could be. */
export function notices(answer) {
  if (!answer.degraded) return "";
  const down = Object.entries(answer.legs).filter(
    ([name, leg]) => name !== "model" && (leg.status === "failed" || leg.status === "pending"),
  );
  return down.map(([name, leg]) => sentence(leg.reason || `the ${name} leg did not run`)).join(" ");
}
