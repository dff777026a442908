/** Functions for the server's API. All errors have one shape: a code, a cause, a remedy. */

import { state } from "./state.js";
import { t } from "./language.js";

const KEY = "footnotes.key";

export class ApiError extends Error {
  /** @param {{code?: string, message?: string, remedy?: string, request_id?: string}} detail */
  constructor(detail, status = 0) {
    super(detail.message || t("the server gave no reason"));
    this.name = "ApiError";
    this.code = detail.code || "unknown";
    this.remedy = detail.remedy || "";
    this.requestId = detail.request_id || "";
    this.status = status;
  }
}

export function isAbort(error) {
  return error instanceof DOMException && error.name === "AbortError";
}

/** The key of this tab. It is stored for the tab only, and sent only to this server. */
export const key = {
  get: () => sessionStorage.getItem(KEY) || "",
  set: (value) => sessionStorage.setItem(KEY, value),
  forget: () => sessionStorage.removeItem(KEY),
};

/** Called when the server requires a key; set by the page. */
let wantsKey = () => {};
export function onUnauthorized(action) {
  wantsKey = action;
}

export function keyHeaders() {
  const held = key.get();
  return held ? { Authorization: `Bearer ${held}` } : {};
}

/**
 * Send a request; throws an ApiError on failure.
 * @param {string} path
 * @param {{method?: string, body?: any, accept?: string, signal?: AbortSignal, keepalive?: boolean}} [options]
 */
export async function send(path, { method = "GET", body, accept = "application/json", signal, keepalive = false } = {}) {
  const headers = {
    Accept: accept,
    ...keyHeaders(),
    ...(body === undefined ? {} : { "Content-Type": "application/json" }),
  };
  let response;
  try {
    response = await fetch(path, {
      method,
      headers,
      body: body === undefined ? undefined : JSON.stringify(body),
      signal,
      keepalive,
    });
  } catch (error) {
    if (isAbort(error)) throw error;
    state.setOnline(false);
    throw new ApiError({
      code: "unreachable",
      message: t("the server does not answer"),
      remedy: t("Check that it runs; the page tries again by itself."),
    });
  }
  state.setOnline(true);
  if (!response.ok) throw await failure(response);
  return response;
}

async function failure(response) {
  if (response.status === 401) wantsKey();
  const said = await response.json().catch(() => ({}));
  return new ApiError(said.error || { message: t("the server answered {status}", { status: response.status }) }, response.status);
}

export async function getJson(path, signal) {
  return (await send(path, { signal })).json();
}

export async function postJson(path, body = {}, signal) {
  return (await send(path, { method: "POST", body, signal })).json();
}

export async function putJson(path, body) {
  return (await send(path, { method: "PUT", body })).json();
}

export async function patchJson(path, body) {
  return (await send(path, { method: "PATCH", body })).json();
}

export async function remove(path, { keepalive = false } = {}) {
  return (await send(path, { method: "DELETE", keepalive })).json();
}

/** Fetch a picture or file as a blob, because an <img> element cannot send the key. */
export async function getBlob(path, signal) {
  return (await send(path, { accept: "*/*", signal })).blob();
}

/** Save the content of an address under a name. */
export async function saveFile(path, name) {
  const address = URL.createObjectURL(await getBlob(path));
  const anchor = document.createElement("a");
  anchor.href = address;
  anchor.download = name;
  anchor.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
}

/** Save the original of a document under its own name. */
export function download(document_) {
  return saveFile(`/v1/documents/${encodeURIComponent(document_.id)}/content`, document_.filename);
}

/**
 * Upload files in one form and report the progress; `fetch` cannot tell how many bytes were sent.
 * @param {{file: File, path: string}[]} files
 * @param {string | null} collection
 * @param {(share: number) => void} onProgress
 * @returns {Promise<{jobs: any[]}>}
 */
export function upload(files, collection, onProgress) {
  const form = new FormData();
  if (collection) form.append("collection", collection);
  for (const { file, path } of files) form.append("file", file, path);
  return new Promise((resolve, reject) => {
    const request = new XMLHttpRequest();
    request.open("POST", "/v1/documents");
    for (const [name, value] of Object.entries(keyHeaders())) request.setRequestHeader(name, value);
    request.responseType = "json";
    request.upload.onprogress = (event) => event.lengthComputable && onProgress(event.loaded / event.total);
    request.onerror = () =>
      reject(
        new ApiError({
          code: "unreachable",
          message: t("the upload broke off"),
          remedy: t("Check that the server runs, then try again."),
        }),
      );
    request.onload = () => {
      if (request.status === 202) return resolve(request.response);
      if (request.status === 401) wantsKey();
      return reject(
        new ApiError(request.response?.error || { message: t("the server answered {status}", { status: request.status }) }, request.status),
      );
    };
    request.send(form);
  });
}
