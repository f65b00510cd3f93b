// A modal of the bot's: its fields, filled in and sent back.

import { el, freshId } from "../dom.js";
import { renderMarkdown } from "../markdown/render.js";
import { encodedFile } from "../compose/uploads.js";
import { openDialog } from "./dialog.js";

const TEXT_INPUT = 4;
const LABEL = 18;
const TEXT = 10;
const FILES = 19;
const LONG = 2;

export function openModal(app, answer) {
  const { modal } = answer;
  const fields = (modal.components ?? []).map((row) => rowView(app, row));
  openDialog({
    title: modal.title ?? "",
    className: "modal",
    content: fields,
    submitLabel: "Submit",
    submit: async (form) => {
      const inputs = [...form.querySelectorAll("[data-field]")];
      const values = Object.fromEntries(
        await Promise.all(inputs.map(async (one) => [one.dataset.field, await entered(one)])),
      );
      const begun = await app.api.post("submit", { interaction: answer.id, values });
      return (await app.answered(begun)) !== null;
    },
  });
}

function entered(input) {
  return input.type === "file" ? Promise.all([...input.files].map(encodedFile)) : input.value;
}

function rowView(app, row) {
  if (row.type === TEXT) return renderMarkdown(row.content ?? "", app.people);
  if (row.type === LABEL) return field(row.component, row.label, row.description);
  return (row.components ?? []).map((item) => field(item, item.label));
}

function field(item, label, description = null) {
  if (item?.type === FILES) return filesField(item, label, description);
  if (item?.type !== TEXT_INPUT)
    return el("p", { class: "hint" }, "The stage cannot show this field yet.");
  const id = freshId("field");
  const required = item.required !== false;
  const input = el(item.style === LONG ? "textarea" : "input", {
    id,
    required,
    maxlength: String(item.max_length ?? 4000),
    minlength: item.min_length ? String(item.min_length) : null,
    placeholder: item.placeholder ?? "",
    data: { field: item.custom_id },
  });
  input.value = item.value ?? "";
  return labelled(input, label ?? item.custom_id, description);
}

function filesField(item, label, description) {
  const input = el("input", {
    id: freshId("field"),
    type: "file",
    required: item.required !== false,
    multiple: (item.max_values ?? 1) > 1,
    data: { field: item.custom_id },
  });
  return labelled(input, label ?? item.custom_id, description);
}

function labelled(input, label, description) {
  return el(
    "div",
    { class: "field" },
    el(
      "label",
      { for: input.id },
      label,
      input.required ? el("span", { class: "required", "aria-hidden": "true" }, " *") : null,
    ),
    description ? el("small", {}, description) : null,
    input,
  );
}
