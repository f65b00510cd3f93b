// A short line at the bottom that goes away by itself; also spoken.
// A modal dialog lies above everything else: while one is open, the line is inside it.

import { byId, el } from "./dom.js";

const SHOWN_MS = 4500;

export function toast(text, kind = "info") {
  const line = el("div", { class: `toast ${kind}` }, text);
  place().append(line);
  setTimeout(() => line.remove(), SHOWN_MS);
}

function place() {
  const dialog = [...document.querySelectorAll("dialog[open]")].at(-1);
  if (!dialog) return byId("toasts");
  const known = dialog.querySelector(":scope > .toasts");
  if (known) return known;
  const box = el("div", { class: "toasts", role: "status" });
  dialog.append(box);
  // What was said last is still to be read when the dialog is closed.
  dialog.addEventListener("close", () => byId("toasts").append(...box.children));
  return box;
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
