/** A passage as plain words to skim: without the signs of Markdown. */

import { markdownBlocks } from "./markdown.js";
import { kindOf, withoutSigns } from "./words.js";

const MARKDOWN = new Set(["md", "markdown", "mdx", "qmd", "rmd"]);
/** Whether a file of this name is Markdown. */
export const isMarkdown = (filename) => MARKDOWN.has(kindOf(filename));
/** Longer passages are cut in display anyway. */
const LONGEST = 4000;

/** @param {{text?: string, quote?: string, filename: string, headings?: string[]}} passage */
export function plainWords(passage) {
  const text = (passage.text ?? passage.quote ?? "").slice(0, LONGEST);
  if (kindOf(passage.filename) === "rst") return withoutDirectives(text);
  if (!isMarkdown(passage.filename)) return withoutRules(withoutSigns(text));
  const known = new Set((passage.headings || []).map((words) => wordsIn(words)));
  const blocks = markdownBlocks(text).flatMap((block) => block.nodes);
  const own = blocks.filter((node) => !(isHeading(node) && known.has(wordsIn(node.textContent || ""))));
  const lines = (own.length > 0 ? own : blocks).flatMap(linesOf);
  return lines.map((line) => line.trim()).filter(Boolean).join("\n") || withoutSigns(text);
}

const isHeading = (node) => /^H[1-6]$/.test(node.nodeName);
const wordsIn = (text) => text.replace(/[^\p{L}\p{N}]+/gu, " ").trim().toLowerCase();

/** One line per row and item, with the cells side by side. */
function linesOf(node) {
  if (!(node instanceof Element)) return [node.textContent || ""];
  const rows = [...node.querySelectorAll("tr")];
  if (rows.length > 0) return rows.map((row) => [...row.children].map((cell) => cell.textContent).join(" · "));
  const items = /^[UO]L$/.test(node.nodeName) ? [...node.children] : [];
  if (items.length > 0) return items.map((item) => `– ${item.textContent}`);
  // A passage that begins inside a table has rows without a head, which lexers do not recognise as a table.
  return [node.nodeName === "P" ? withoutRules(node.textContent || "") : node.textContent || ""];
}

/** Prose of reStructuredText without rules, directives and the marks of roles, literals and links. */
function withoutDirectives(text) {
  const plain = text
    .replace(/^([!-/:-@[-`{-~])\1{3,}[ \t]*$\n?/gm, "")
    .replace(/(^[ \t]*\.\. [^\n]*::[^\n]*\n)(?:[ \t]+:[\w -]+:[^\n]*(?:\n|$))+/gm, "$1")
    .replace(/^([ \t]*)\.\. (?:attention|caution|danger|error|hint|important|note|seealso|tip|warning)::[ \t]*/gm, "$1")
    .replace(/^[ \t]*\.\. (?:_[^:\n]+:|(?:\|[^|\n]+\| )?[\w:-]+::)[^\n]*$/gm, "")
    .replace(/(?<![\w:]):(?:[a-z]+:)?[a-z-]+:(?=`)/g, "")
    .replace(/``([^`\n]+)``|`[!~]?([^`<>\n]+?)(?:\s*<[^`<>]*>)?`_{0,2}/g, (_, code, role) => code ?? role)
    .replace(/\*\*([^*\n]+)\*\*/g, "$1")
    .replace(/::[ \t]*$/gm, ":");
  return plain.replace(/\n{2,}/g, "\n").trim() || text;
}

/** Rows of a table without the strokes between cells. */
function withoutRules(text) {
  return text
    .replace(/^[ \t|:-]*-[ \t|:-]*$\n?/gm, "")
    .replace(/^[ \t]*\|[ \t]*(.*?)[ \t]*\|[ \t]*$/gm, (_, cells) => cells.split(/[ \t]*\|[ \t]*/).filter(Boolean).join(" · "))
    .replace(/(?<=\S) \| (?=\S)/g, " · ");
}
