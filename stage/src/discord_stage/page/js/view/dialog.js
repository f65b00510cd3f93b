// A dialog with a title, a form and two buttons. Escape closes it; the focus returns whence it came.

import { byId, el, freshId } from "../dom.js";
import { icon } from "../icons.js";
import { clearErrors, showError } from "./field_errors.js";

const FIELDS = "input, textarea, select";
const STOPS = `${FIELDS}, button, a[href], [tabindex="0"]`;

// `submit(form)` may return false to keep it open; what it throws with a status is shown in it.
export function openDialog({ title, content, submitLabel = null, cancelLabel = "Cancel", submit = null, className = "" }) {
  const id = freshId("dialog");
  const close = el(
    "button",
    { class: "icon-button", type: "button", "aria-label": "Close" },
    icon("close"),
  );
  const form = el(
    "form",
    { method: "dialog" },
    el("header", {}, el("h2", { id }, title), close),
    el("div", { class: "dialog-body" }, content),
    submitLabel
      ? el(
          "footer",
          {},
          el("button", { class: "button plain", type: "button", data: { cancel: "" } }, cancelLabel),
          el("button", { class: "button primary", type: "submit" }, submitLabel),
        )
      : null,
  );
  const dialog = el("dialog", { class: `dialog ${className}`, "aria-labelledby": id }, form);
  close.addEventListener("click", () => dialog.close());
  form.querySelector("[data-cancel]")?.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (form.ariaBusy) return;
    form.ariaBusy = "true";
    clearErrors(form);
    const stays = submit && (await submitted(submit, form)) === false;
    form.ariaBusy = null;
    if (!stays) dialog.close();
  });
  dialog.addEventListener("keydown", (event) => goRound(event, dialog));
  show(dialog);
  const field = form.querySelector(".dialog-body").querySelector(FIELDS);
  if (submit) (field ?? form.querySelector("[type=submit]"))?.focus();
  return dialog;
}

async function submitted(submit, form) {
  try {
    return await submit(form);
  } catch (error) {
    if (error.status === undefined) throw error;
    showError(form, error);
    return false;
  }
}

function show(dialog) {
  const opener = document.activeElement;
  const message = opener.closest(".message")?.id;
  dialog.addEventListener("close", () => {
    dialog.remove();
    // A message that was drawn anew has another button in its place.
    if (!opener.isConnected || !opener.checkVisibility()) (byId(message) ?? byId("composer-text")).focus();
  });
  document.body.append(dialog);
  dialog.showModal();
}

// A native dialog lets Tab out into the browser's own buttons.
function goRound(event, dialog) {
  if (event.key !== "Tab") return;
  const stops = [...dialog.querySelectorAll(STOPS)].filter((node) => node.checkVisibility());
  const [from, to] = event.shiftKey ? [stops[0], stops.at(-1)] : [stops.at(-1), stops[0]];
  if (document.activeElement !== from) return;
  event.preventDefault();
  to.focus();
}
