/** Truth in the corner: one quiet sentence when something is not as it should be, with the remedy. */

import { element, fill } from "./dom.js";
import { state } from "./state.js";
import { count } from "./words.js";

export function watchBanner(holder) {
  const draw = () => {
    const said = message();
    holder.hidden = !said;
    if (said) fill(holder, element("strong", {}, said[0]), element("span", {}, said[1]));
  };
  for (const name of ["status", "legs", "online"]) state.on(name, draw);
}

/** @returns {[string, string] | null} what is the matter and what to do */
function message() {
  if (!state.online) return ["The server does not answer.", "Check that it runs; the page tries again by itself."];
  const { status, legs } = state;
  // A model or a reranker that failed is said with its answer: it is no way of finding.
  const failed = ["lexical", "dense"].map((name) => [name, legs?.[name]]).find(([, leg]) => leg?.status === "failed");
  if (failed)
    return [
      `Search by ${failed[0] === "dense" ? "meaning" : "words"} is down${failed[1].reason ? ` (${failed[1].reason})` : ""}.`,
      "Answers come from the other leg alone until it is back.",
    ];
  if (status?.waiting > 0)
    return [
      `Vectors of ${count(status.waiting, "document")} are still being made.`,
      "They are found by their words already, by their meaning soon.",
    ];
  if (status && status.embedder !== status.configured_embedder && state.documents() > 0)
    return [`The library was embedded by ${status.embedder}.`, `Reindex it to use ${status.configured_embedder}.`];
  if (status?.outdated > 0)
    return [
      `${count(status.outdated, "document")} ${status.outdated === 1 ? "was" : "were"} made by an older version, chunker or model.`,
      "They are found as they are; `footnotes reindex --outdated` makes them anew.",
    ];
  return null;
}
