/**
 * The page's texts in the reader's language. The modules contain the English texts; `words/*.json` maps them to
 * translations. A text without a translation is shown in English, and a test fails.
 */

/** @type {Record<string, string>} each in its own language */
export const LANGUAGES = { en: "English", de: "Deutsch", fr: "Français", es: "Español", zh: "中文", ar: "العربية" };
const KEY = "footnotes.language";

export const language = document.documentElement.lang in LANGUAGES ? document.documentElement.lang : "en";

/** @type {Record<string, string | Record<string, string>>} a text with a number has one translation per plural form */
const known = language === "en" ? {} : await wordsOf(language);
const plurals = new Intl.PluralRules(language);
const numbers = new Intl.NumberFormat(language);

async function wordsOf(name) {
  try {
    return await (await fetch(new URL(`words/${name}.json`, document.querySelector("link[rel=stylesheet]").href))).json();
  } catch {
    return {}; // fall back to English
  }
}

/**
 * Translate a text to the language of the page.
 * @param {string} text in English; `{name}` stands for a value
 * @param {Record<string, any>} [values]
 */
export function t(text, values = {}) {
  const found = known[text];
  return filled(typeof found === "string" ? found : text, values);
}

function filled(text, values) {
  return text.replace(/\{(\w+)\}/g, (whole, name) => (name in values ? String(values[name]) : whole));
}

/** `3 documents`: a number with its word. The English plural ends in s. */
export function count(number, one) {
  const text = number === 1 ? `{n} ${one}` : `{n} ${one}s`;
  const forms = known[`{n} ${one}s`];
  const found = typeof forms === "object" ? forms[plurals.select(number)] || forms.other : text;
  return filled(found, { n: numbers.format(number) });
}

export function figure(number) {
  return numbers.format(number);
}

/** Change the language, and reload the page because its texts are everywhere. */
export function chooseLanguage(name) {
  localStorage.setItem(KEY, name);
  location.reload();
}
