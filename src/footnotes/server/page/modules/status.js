/** What the server says about itself, asked for when something changed and now and then. */

import { getJson } from "./api.js";
import { settled } from "./dom.js";
import { state } from "./state.js";

const NOW_AND_THEN = 30_000;
const WHILE_AWAY = 3_000;

export async function loadStatus() {
  state.setStatus(await getJson("/v1/status"));
}

/** Soon, and once for many changes: the server counts its files for it. */
export const refreshStatus = settled(400, () => loadStatus().catch(() => {}));

export function keepFresh() {
  setInterval(() => document.visibilityState === "visible" && refreshStatus(), NOW_AND_THEN);
  setInterval(() => !state.online && refreshStatus(), WHILE_AWAY);
}
