/** A typed client of a Footnotes server. The types of `schema.ts` are made from its /openapi.json. */
import createClient, { type Client as Fetcher, type ClientOptions } from "openapi-fetch";
import type { components, paths } from "./schema.js";

export type { components, paths } from "./schema.js";
type Schemas = components["schemas"];
export type Answer = Schemas["Answer"];
export type AskBody = Schemas["AskBody"];
export type Citation = Schemas["Citation"];
export type Document = Schemas["Document"];
export type Job = Schemas["ServerJob"];
export type SearchBody = Schemas["SearchBody"];
export type SearchResult = Schemas["SearchResult"];

/** One thing that happened while an answer was made; the last is `done`, or `error`. */
export type AnswerEvent = { type: string; text?: string; answer?: Answer; citation?: Citation; [name: string]: unknown };

/** An error as the server says it: a stable code, the cause, and what to do. */
export class FootnotesError extends Error {
  constructor(
    readonly status: number,
    readonly code: string,
    message: string,
    readonly remedy: string,
  ) {
    super(message);
    this.name = "FootnotesError";
  }
}

export interface Options extends Omit<ClientOptions, "baseUrl"> {
  /** The key, where the server needs one. */
  key?: string;
}

/** The library of a key on a server. `http` has every route, typed; the methods are the ones most programs need. */
export class Footnotes {
  readonly http: Fetcher<paths>;
  readonly #fetch: typeof fetch;
  readonly #headers: Record<string, string>;

  constructor(
    readonly address: string,
    { key, ...options }: Options = {},
  ) {
    this.#headers = key ? { Authorization: `Bearer ${key}` } : {};
    this.#fetch = (options.fetch as typeof fetch | undefined) ?? globalThis.fetch;
    this.http = createClient<paths>({ ...options, baseUrl: address, headers: this.#headers });
  }

  async search(query: string, options: Partial<Omit<SearchBody, "query">> = {}): Promise<SearchResult> {
    const body = { ...options, query } as SearchBody;
    return given<SearchResult>(await this.http.POST("/v1/search", { body }));
  }

  async ask(question: string, options: Partial<Omit<AskBody, "question">> = {}): Promise<Answer> {
    const body = { ...options, question } as AskBody;
    return given<Answer>(await this.http.POST("/v1/ask", { body }));
  }

  /** As `ask`, in events as they happen. */
  async *askStream(question: string, options: Partial<Omit<AskBody, "question">> = {}): AsyncGenerator<AnswerEvent> {
    const response = await this.#fetch(`${this.address}/v1/ask`, {
      method: "POST",
      headers: { ...this.#headers, "Content-Type": "application/json", Accept: "text/event-stream" },
      body: JSON.stringify({ ...options, question }),
    });
    if (!response.ok) throw await refused(response);
    for await (const line of lines(response.body!)) {
      if (line.startsWith("data: ")) yield JSON.parse(line.slice("data: ".length)) as AnswerEvent;
    }
  }

  /** Take in a text under a name, and wait until it is in. */
  async addText(text: string, filename: string, options: { collection?: string; source?: string } = {}): Promise<Job> {
    return this.add(new Blob([text]), filename, options);
  }

  /** Take in a file, and wait until it is in. */
  async add(file: Blob, filename: string, options: { collection?: string; source?: string } = {}): Promise<Job> {
    const form = new FormData();
    form.append("file", file, filename);
    for (const [name, value] of Object.entries(options)) if (value) form.append(name, value);
    const response = await this.#fetch(`${this.address}/v1/documents`, {
      method: "POST",
      headers: this.#headers,
      body: form,
    });
    if (!response.ok) throw await refused(response);
    const accepted = (await response.json()) as { jobs: Job[] };
    return this.settled(accepted.jobs[0]!.id);
  }

  /** A job when it is done. */
  async settled(jobId: string): Promise<Job> {
    for (let wait = 50; ; wait = Math.min(wait * 1.5, 2000)) {
      const job = given<Job>(await this.http.GET("/v1/jobs/{job_id}", { params: { path: { job_id: jobId } } }));
      if (job.state === "ready" || job.state === "failed") return job;
      await new Promise((resolve) => setTimeout(resolve, wait));
    }
  }

  async documents(options: { collection?: string; limit?: number; offset?: number } = {}): Promise<Document[]> {
    const found = given<Schemas["Documents"]>(await this.http.GET("/v1/documents", { params: { query: options } }));
    return found.documents;
  }

  /** The canonical text of a document, or a span of it: what a citation quotes. */
  async text(documentId: string, start = 0, end?: number): Promise<string> {
    const params = { path: { document_id: documentId }, query: end === undefined ? { start } : { start, end } };
    return given<Schemas["Text"]>(await this.http.GET("/v1/documents/{document_id}/text", { params })).text;
  }

  async delete(documentId: string): Promise<string[]> {
    const params = { path: { document_id: documentId } };
    return given<Schemas["Deleted"]>(await this.http.DELETE("/v1/documents/{document_id}", { params })).deleted;
  }
}

function given<T>(result: { data?: unknown; error?: unknown; response: Response }): T {
  if (result.error !== undefined || !result.response.ok) throw errorOf(result.response.status, result.error);
  return result.data as T;
}

async function refused(response: Response): Promise<FootnotesError> {
  return errorOf(response.status, await response.json().catch(() => undefined));
}

function errorOf(status: number, body: unknown): FootnotesError {
  const said = (body as { error?: { code?: string; message?: string; remedy?: string } } | undefined)?.error ?? {};
  return new FootnotesError(status, said.code ?? "unknown", said.message ?? `status ${status}`, said.remedy ?? "");
}

async function* lines(body: ReadableStream<Uint8Array>): AsyncGenerator<string> {
  const reader = body.pipeThrough(new TextDecoderStream() as never).getReader() as ReadableStreamDefaultReader<string>;
  let pending = "";
  for (;;) {
    const { done, value } = await reader.read();
    if (done) break;
    const whole = (pending + value).split("\n");
    pending = whole.pop()!;
    yield* whole;
  }
  if (pending) yield pending;
}
