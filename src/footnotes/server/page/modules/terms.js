/** Finds the words of a query in a passage. An approximation of the server's stemming, only for display. */

import { element } from "./dom.js";

const WORD = /[\p{L}\p{N}]+/gu;
const COMMON = new Set(
  "a an and are as at be by can did do does for from has have how i if in is it its may of on or that the their there this to was what when where which who why will with you your der die das und ist ein eine le la les de des et".split(
    " ",
  ),
);
const ENDINGS = /(ations?|ments?|ness|ingly|edly|ings?|ed|ies|es|s|ly|e|en|er)$/;

function stem(word) {
  const low = word.toLowerCase();
  const cut = low.replace(ENDINGS, "");
  return cut.length >= 3 ? cut : low;
}

/** The words of a query without function words. */
export function termsOf(query) {
  const all = [...query.matchAll(WORD)].map((match) => match[0]);
  const kept = all.filter((word) => !COMMON.has(word.toLowerCase()));
  return new Set((kept.length > 0 ? kept : all).map(stem));
}

/** @returns {(string | HTMLElement)[]} the text with marked words */
export function marksOf(text, query) {
  const terms = termsOf(query);
  const parts = [];
  let begin = 0;
  for (const match of text.matchAll(WORD)) {
    if (!terms.has(stem(match[0]))) continue;
    parts.push(text.slice(begin, match.index), element("mark", {}, match[0]));
    begin = match.index + match[0].length;
  }
  return [...parts, text.slice(begin)];
}
