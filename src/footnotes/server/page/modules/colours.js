/**
 * Syntax colours: comments, strings and words that most languages reserve. Only a guess, but good enough to read
 * by, and it only creates spans of text.
 */

const HASHED = /python|ruby|shell|x-sh|perl|yaml|toml|makefile|x-r$|elixir|cmake|dockerfile|powershell/;
const WORDS = new Set(
  (
    "abstract and as assert async await break case catch class const continue def default defer del do elif else enum " +
    "except export extends extern false finally fn for from func function global go if impl implements import in " +
    "instanceof interface is lambda let loop match mod module mut namespace new nil nonlocal none not null or package " +
    "pass private protected pub public raise return self static struct super switch this throw trait true try type " +
    "typeof use using val var void when where while with yield None True False"
  ).split(" "),
);
const STRINGS = String.raw`"""[\s\S]*?(?:"""|$)|'''[\s\S]*?(?:'''|$)|"(?:\\.|[^"\\\n])*"?|'(?:\\.|[^'\\\n])*'?|\x60(?:\\[\s\S]|[^\x60\\])*\x60?`;
const SLASHED = String.raw`\/\/[^\n]*|\/\*[\s\S]*?(?:\*\/|$)`;
const HASH = String.raw`#[^\n]*`;
const NAMES = String.raw`[\p{L}_$][\p{L}\p{N}_$]*`;

/**
 * @param {string} text
 * @param {string} mime
 * @returns {{start: number, end: number, kind: "comment" | "string" | "keyword"}[]} in order, without overlap
 */
export function colourSpans(text, mime) {
  const comments = HASHED.test(mime) ? HASH : SLASHED;
  const pattern = new RegExp(`(${comments})|(${STRINGS})|(${NAMES})`, "gu");
  const spans = [];
  for (const found of text.matchAll(pattern)) {
    const [whole, comment, string] = found;
    const kind = comment ? "comment" : string ? "string" : WORDS.has(whole) && "keyword";
    if (kind) spans.push({ start: found.index, end: found.index + whole.length, kind });
  }
  return spans;
}
