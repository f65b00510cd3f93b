// A dialog with a title, a form and two buttons. Native: it holds the focus, Escape closes it.

import { el, freshId } from "../dom.js";
import { icon } from "../icons.js";

// `submit(form)` may return false to keep it open.
export function openDialog({ title, content, submitLabel = null, submit = null, className = "" }) {
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
          el("button", { class: "button plain", type: "button", data: { cancel: "" } }, "Cancel"),
          el("button", { class: "button primary", type: "submit" }, submitLabel),
        )
      : null,
  );
  const dialog = el("dialog", { class: `dialog ${className}`, "aria-labelledby": id }, form);
  close.addEventListener("click", () => dialog.close());
  form.querySelector("[data-cancel]")?.addEventListener("click", () => dialog.close());
  form.addEventListener("submit", async (event) => {
    event.preventDefault();
    if (submit && (await submit(form)) === false) return;
    dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
  return dialog;
}
