/** The server's status, fetched after changes and regularly. */

import { getJson } from "./api.js";
import { settled } from "./dom.js";
import { state } from "./state.js";

const NOW_AND_THEN = 30_000;
const WHILE_AWAY = 3_000;

export async function loadStatus() {
  state.setStatus(await getJson("/v1/status"));
}

/** Fetch it soon, once for many changes, because the server counts its files for it. */
export const refreshStatus = settled(400, () => loadStatus().catch(() => {}));

export function keepFresh() {
  setInterval(() => document.visibilityState === "visible" && refreshStatus(), NOW_AND_THEN);
  setInterval(() => !state.online && refreshStatus(), WHILE_AWAY);
}
