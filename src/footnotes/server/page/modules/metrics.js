/** A summary of the metrics: a few figures from the text for Prometheus. */

import { figure, t } from "./language.js";
import { duration } from "./words.js";

const SAMPLE = /^([a-zA-Z_:][\w:]*)(?:\{(.*)\})?\s+(\S+)/;
const LABEL = /(\w+)="((?:[^"\\]|\\.)*)"/g;

/** @returns {{name: string, labels: Record<string, string>, value: number}[]} */
export function samplesOf(text) {
  const found = [];
  for (const line of text.split("\n")) {
    const match = line.startsWith("#") ? null : SAMPLE.exec(line);
    if (match)
      found.push({
        name: match[1],
        labels: Object.fromEntries([...(match[2] || "").matchAll(LABEL)].map((label) => [label[1], label[2]])),
        value: Number(match[3]),
      });
  }
  return found;
}

/** @returns {[string, string | null][]} */
export function glance(text) {
  const samples = samplesOf(text);
  const sum = (name, wanted = {}) =>
    samples
      .filter(
        (one) => one.name === name && Object.entries(wanted).every(([label, value]) => one.labels[label] === value),
      )
      .reduce((total, one) => total + one.value, 0);
  const errors = samples
    .filter((one) => one.name === "footnotes_errors_total" && one.value > 0)
    .sort((one, other) => other.value - one.value);
  return [
    [t("Requests"), figure(sum("footnotes_requests_total"))],
    [t("Searches"), `${figure(sum("footnotes_search_seconds_count"))}${typical(samples, "footnotes_search_seconds")}`],
    [t("Answers"), `${figure(sum("footnotes_answers_total"))}${typical(samples, "footnotes_answer_seconds")}`],
    [t("Without an answer"), figure(sum("footnotes_answers_total", { outcome: "abstained" }))],
    [t("Documents added"), figure(sum("footnotes_documents_total"))],
    [t("Texts embedded"), figure(sum("footnotes_embedded_texts_total"))],
    [t("Model tokens"), figure(sum("footnotes_model_tokens_total"))],
    [
      t("Errors"),
      errors.length === 0
        ? t("none")
        : errors
            .slice(0, 3)
            .map((one) => `${one.labels.code} ${figure(one.value)}`)
            .join(", "),
    ],
  ];
}

/** The upper bound of 95% of the values, from the buckets of a histogram. */
function typical(samples, name) {
  const buckets = samples
    .filter((one) => one.name === `${name}_bucket`)
    .map((one) => [Number(one.labels.le.replace("+Inf", "Infinity")), one.value]);
  buckets.sort(([one], [other]) => one - other);
  const all = buckets.at(-1)?.[1] || 0;
  const bound = buckets.find(([, value]) => value >= all * 0.95)?.[0];
  return all > 0 && Number.isFinite(bound) ? `, ${t("95% within {time}", { time: duration(bound * 1000) })}` : "";
}
