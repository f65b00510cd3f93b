// What is wrong with a form, beside the field it concerns, or at its end if it concerns none.

import { el, freshId } from "../dom.js";

// A field is known by `data-field`: the name that it has in the request.
export function showError(form, error) {
  const input = error.field ? form.querySelector(`[data-field="${CSS.escape(error.field)}"]`) : null;
  if (input?.checkVisibility()) {
    markField(input, input.closest(".field"), error.message);
    return;
  }
  const line = el("p", { class: "field-error", role: "alert" }, error.message);
  form.querySelector(".dialog-body").append(line);
  line.scrollIntoView({ block: "nearest" });
}

export function markField(input, box, words) {
  const id = freshId("error");
  input.setAttribute("aria-invalid", "true");
  input.setAttribute("aria-describedby", id);
  box.append(el("p", { id, class: "field-error", role: "alert" }, words));
  input.focus();
}

export function clearErrors(form) {
  for (const line of form.querySelectorAll(".field-error")) line.remove();
  for (const input of form.querySelectorAll("[aria-invalid]")) {
    input.removeAttribute("aria-invalid");
    input.removeAttribute("aria-describedby");
  }
}
