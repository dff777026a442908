/**
 * Reads server-sent events from a response body, because EventSource can send neither a key nor POST. The rules for
 * lines are the same: CR, LF or CRLF end a line, even across network packets, and an event counts only with the empty
 * line after it.
 */

/** @typedef {{name: string, data: string}} ServerEvent */

export class EventParser {
  #pending = "";
  #name = "";
  /** @type {string[]} */
  #data = [];
  #afterReturn = false;

  /**
   * @param {string} text the next piece of the stream, cut anywhere
   * @returns {ServerEvent[]} the events it completes
   */
  push(text) {
    let piece = text;
    // The LF of a CRLF whose CR ended the last piece.
    if (this.#afterReturn && piece.startsWith("\n")) piece = piece.slice(1);
    if (text) this.#afterReturn = text.endsWith("\r");
    const lines = (this.#pending + piece).split(/\r\n|\r|\n/);
    this.#pending = /** @type {string} */ (lines.pop());
    return lines.map((line) => this.#take(line)).filter((event) => event !== null);
  }

  /** @returns {ServerEvent | null} */
  #take(line) {
    if (line === "") return this.#dispatch();
    if (line.startsWith(":")) return null;
    const colon = line.indexOf(":");
    const field = colon < 0 ? line : line.slice(0, colon);
    const value = colon < 0 ? "" : line.slice(colon + 1).replace(/^ /, "");
    if (field === "event") this.#name = value;
    else if (field === "data") this.#data.push(value);
    return null;
  }

  #dispatch() {
    const event = this.#data.length > 0 ? { name: this.#name || "message", data: this.#data.join("\n") } : null;
    this.#name = "";
    this.#data = [];
    return event;
  }
}

/**
 * Yield the events of a response as they arrive. Ends with the stream; throws what `fetch` throws if it breaks.
 * @param {Response} response
 * @returns {AsyncGenerator<{name: string, data: any}>}
 */
export async function* eventsOf(response) {
  const reader = /** @type {ReadableStream<Uint8Array>} */ (response.body).getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  let done = false;
  try {
    while (!done) {
      const part = await reader.read();
      done = part.done;
      for (const event of parser.push(done ? decoder.decode() : decoder.decode(part.value, { stream: true }))) {
        yield { name: event.name, data: JSON.parse(event.data) };
      }
    }
  } finally {
    // When the reader stops, the server's work ends too.
    if (!done) reader.cancel().catch(() => {});
  }
}
