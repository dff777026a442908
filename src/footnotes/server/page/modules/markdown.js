/**
 * Converts Markdown to elements, with the source offset of every text. The vendored lexer tokenises the source; only
 * allowed elements are created here, and all words are added as text. HTML in the source is shown as written.
 */

import { Lexer } from "../vendor/marked.js";
import { element } from "./dom.js";

/** @typedef {{node: Text, start: number, end: number}} Piece a text node and the span of the source it shows */
/** @typedef {{nodes: ChildNode[], pieces: Piece[], raw: string, start: number}} Block */

const ENTITY = /&(#\d{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});/g;
const NAMED = {
  amp: "&",
  lt: "<",
  gt: ">",
  quot: '"',
  apos: "'",
  nbsp: "\u00a0",
  mdash: "—",
  ndash: "–",
  hellip: "…",
  copy: "©",
  middot: "·",
  times: "×",
};
const DEEPEST = 40;
/** `{ #anchor }` after a heading is not for readers. */
const ATTRIBUTES = /\s*\{:?\s*[#.][^{}]*\}\s*$/;
/** `/// tip | Title` and `///`, which frame an aside in some manuals. */
const FRAME = /^\/{3,}(?:\s+([\w-]+)(?:\s*\|\s*(.*))?)?\s*$/;

/**
 * @param {string} source
 * @param {{links?: boolean}} [options] links: whether links can be followed
 * @returns {Block[]} the blocks in order; joined, their raw texts are the source
 */
export function markdownBlocks(source, { links = false } = {}) {
  // The lexer turns CRLF into one character; an added space keeps every offset.
  const even = source.replace(/\r\n/g, " \n").replace(/\r/g, "\n");
  const blocks = [];
  let start = 0;
  for (const token of new Lexer({ gfm: true }).lex(even)) {
    const builder = new Builder(even, start, start + token.raw.length, links);
    const holder = document.createDocumentFragment();
    builder.block(token, holder, 0);
    if (holder.childNodes.length > 0 || builder.pieces.length > 0) {
      blocks.push({ nodes: [...holder.childNodes], pieces: builder.pieces, raw: token.raw, start });
    }
    start += token.raw.length;
  }
  return blocks;
}

class Builder {
  /** @type {Piece[]} */
  pieces = [];

  constructor(source, start, end, links) {
    this.source = source;
    this.cursor = start;
    this.end = end;
    this.links = links;
  }

  block(token, parent, depth) {
    if (depth > DEEPEST) return this.text(token.raw, parent);
    switch (token.type) {
      case "heading":
        // One level down, because the page has its own first heading.
        return this.inside(`h${Math.min(token.depth + 1, 6)}`, { tokens: withoutAttributes(token.tokens) }, parent, depth);
      case "paragraph":
        return FRAME.test(token.raw.trim()) ? this.frame(token, parent) : this.inside("p", token, parent, depth);
      case "text":
        return token.tokens ? this.inlines(token.tokens, parent, depth) : this.text(token.text, parent);
      case "blockquote":
        return this.blocks("blockquote", token.tokens, parent, depth);
      case "list":
        return this.list(token, parent, depth);
      case "code":
        return this.code(token, parent);
      case "table":
        return this.table(token, parent, depth);
      case "hr":
        return parent.append(element("hr"));
      case "html":
        return this.text(token.raw, made(parent, "p"));
      case "space":
      case "def":
        return undefined;
      default:
        return this.text(token.raw, parent);
    }
  }

  inside(name, token, parent, depth) {
    this.inlines(token.tokens || [], made(parent, name), depth + 1);
  }

  /** Show the name of an aside above it; its end marker is dropped. */
  frame(token, parent) {
    const [, name, title] = FRAME.exec(token.raw.trim()) || [];
    if (!name) return;
    const line = made(parent, "p");
    line.className = "aside-name";
    this.text(title || name, line);
  }

  blocks(name, tokens, parent, depth) {
    const holder = made(parent, name);
    for (const token of tokens) this.block(token, holder, depth + 1);
  }

  list(token, parent, depth) {
    const list = made(parent, token.ordered ? "ol" : "ul");
    if (token.ordered && Number.isInteger(token.start) && token.start !== 1)
      list.setAttribute("start", String(token.start));
    for (const item of token.items) {
      this.blocks("li", item.tokens, list, depth);
    }
  }

  code(token, parent) {
    this.text(token.text, made(made(parent, "pre"), "code"), { entities: false });
  }

  table(token, parent, depth) {
    const frame = made(parent, "div");
    frame.className = "table-frame";
    const table = made(frame, "table");
    const rows = [[token.header, "th", made(table, "thead")], ...token.rows.map((row) => [row, "td", null])];
    const body = made(table, "tbody");
    for (const [cells, name, head] of rows) {
      const line = made(head || body, "tr");
      for (const cell of cells) this.inlines(cell.tokens, made(line, name), depth + 2);
    }
  }

  inlines(tokens, parent, depth) {
    for (const token of tokens) this.inline(token, parent, depth);
  }

  inline(token, parent, depth) {
    if (depth > DEEPEST) return this.text(token.raw, parent);
    switch (token.type) {
      case "strong":
      case "em":
      case "del":
        return this.inside(token.type, token, parent, depth);
      case "codespan":
        return this.text(token.text, made(parent, "code"), { entities: false });
      case "br":
        return parent.append(element("br"));
      case "link":
        return this.link(token, parent, depth);
      case "image":
        return this.image(token, parent);
      case "checkbox":
        return parent.append(token.checked ? "☑ " : "☐ ");
      case "text":
        return token.tokens ? this.inlines(token.tokens, parent, depth + 1) : this.text(token.text, parent);
      case "escape":
        return this.text(token.text, parent, { entities: false });
      default:
        return this.text(token.raw, parent, { entities: false });
    }
  }

  /** Links work in documents but not in answers: a model must not choose the target of a click. */
  link(token, parent, depth) {
    const safe = this.links && /^(https?:|mailto:)/i.test(token.href);
    const attributes = safe
      ? { href: token.href, rel: "noopener noreferrer", target: "_blank" }
      : { title: token.href };
    const holder = element(safe ? "a" : "span", attributes);
    parent.append(holder);
    this.inlines(token.tokens || [], holder, depth + 1);
  }

  /** Images are never loaded: their alternative text is shown. */
  image(token, parent) {
    const note = element("span", { class: "picture-note", title: token.href }, "[picture: ");
    parent.append(note);
    this.text(token.text || token.href, note, { entities: false });
    note.append("]");
  }

  text(text, parent, { entities = true } = {}) {
    let begin = 0;
    for (const match of entities ? text.matchAll(ENTITY) : []) {
      const character = decoded(match[1]);
      if (character === null) continue;
      this.place(text.slice(begin, match.index), parent);
      this.place(match[0], parent, character);
      begin = match.index + match[0].length;
    }
    this.place(text.slice(begin), parent);
  }

  /** One text node if the words are contiguous in the source, else one per line: list items lose their indent. */
  place(text, parent, shown = text) {
    if (!text) return;
    const found = this.source.indexOf(text, this.cursor);
    if (found >= 0 && found + text.length <= this.end) {
      const node = document.createTextNode(shown);
      parent.append(node);
      this.pieces.push({ node, start: found, end: found + text.length });
      this.cursor = found + text.length;
    } else if (text.includes("\n")) {
      text.split("\n").forEach((line, index) => {
        if (index > 0) parent.append("\n");
        this.place(line, parent);
      });
    } else {
      parent.append(shown);
    }
  }
}

function withoutAttributes(tokens = []) {
  const last = tokens.at(-1);
  if (last?.type !== "text" || last.tokens || !ATTRIBUTES.test(last.text)) return tokens;
  return [...tokens.slice(0, -1), { ...last, text: last.text.replace(ATTRIBUTES, "") }];
}

function made(parent, name) {
  const child = document.createElement(name);
  parent.append(child);
  return child;
}

function decoded(name) {
  if (!name.startsWith("#")) return NAMED[name] ?? null;
  const code = /^#[xX]/.test(name) ? parseInt(name.slice(2), 16) : Number(name.slice(1));
  return code > 0 && code <= 0x10ffff && (code < 0xd800 || code > 0xdfff) ? String.fromCodePoint(code) : null;
}
