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

/** Why an answer is not all it could be. */
export function notices(answer) {
  if (!answer.degraded) return "";
  const down = Object.entries(answer.legs).filter(([, leg]) => leg.status === "failed" || leg.status === "pending");
  return down.map(([name, leg]) => sentence(leg.reason || `the ${name} leg did not run`)).join(" ");
}
