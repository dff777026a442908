/** The filter words in a question, as the server parses them: see docs/reference/filters.md. */

const WORD =
  /(?<!\S)(?:layer|symbol|imports|path|type|language|entry_point|section):(?:"[^"\n]+"|[^\s"]\S*)(?!\S)/g;

/** @returns {string[]} each once, as written */
export function filterWords(question) {
  return [...new Set(question.match(WORD) || [])];
}

/** The question without one of its filters. */
export function withoutWord(question, word) {
  return question
    .replace(WORD, (found) => (found === word ? " " : found))
    .replace(/\s+/g, " ")
    .trim();
}
