// A short line at the bottom that goes away by itself; also spoken.

import { byId, el } from "./dom.js";

const SHOWN_MS = 4500;

export function toast(text, kind = "info") {
  const line = el("div", { class: `toast ${kind}` }, text);
  byId("toasts").append(line);
  setTimeout(() => line.remove(), SHOWN_MS);
}

// Runs what may fail; the reason is shown, and the caller gets null.
export async function attempt(work) {
  try {
    return await work();
  } catch (error) {
    if (error.status === undefined) throw error;
    toast(error.message, "error");
    return null;
  }
}
