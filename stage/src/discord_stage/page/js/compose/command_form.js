// A chosen command with its options: fields in a row, the required first, others on request.

import { byId, clear, counted, debounce, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";
import { clearErrors, markField } from "../view/field_errors.js";
import { runCommand } from "./commands.js";
import { isFile, readValue, suggestionsFor } from "./options.js";
import { encodedFile } from "./uploads.js";

const COMPLETE_MS = 120;

export class CommandForm {
  constructor(app, suggestions, done) {
    this.app = app;
    this.suggestions = suggestions;
    this.done = done;
    this.box = byId("command-form");
    this.command = null;
    this.fields = new Map();
    this.asked = 0;
    this.running = false;
    document.addEventListener("keydown", (event) => this.#escape(event));
  }

  get open() {
    return this.command !== null;
  }

  get #blank() {
    return [...this.fields.values()].every(({ input }) => !input.value);
  }

  // A click beside it takes the focus to the body: from there it must end too.
  #escape(event) {
    const near = event.target === document.body || byId("composer").contains(event.target);
    if (event.key === "Escape" && this.open && near && !event.isComposing) this.#leave(event);
  }

  show(command) {
    this.command = command;
    this.fields.clear();
    const required = command.options.filter((option) => option.required);
    clear(
      this.box,
      this.#chip(command),
      required.map((option) => this.#field(option)),
      this.#moreButton(),
    );
    this.box.hidden = false;
    (this.box.querySelector("input") ?? this.box.querySelector(".command-chip")).focus();
  }

  close() {
    this.command = null;
    this.box.hidden = true;
    this.suggestions.hide();
    clear(this.box);
  }

  #chip(command) {
    const chip = el(
      "button",
      {
        class: "command-chip",
        type: "button",
        title: `${command.description} — Enter runs it, Escape leaves it`,
        "aria-label": `Command ${command.line}: ${command.description}`,
      },
      `/${command.line}`,
    );
    chip.addEventListener("keydown", (event) => {
      if (event.key === "Backspace" || event.key === "Delete") this.#leave(event);
      else if (event.key === "Enter") this.submit(event);
    });
    chip.addEventListener("click", (event) => event.detail && this.submit(event));
    return chip;
  }

  #moreButton() {
    const left = this.command.options.filter((option) => !this.fields.has(option.name));
    this.more?.remove();
    this.more = null;
    if (!left.length) return null;
    this.more = el(
      "button",
      { class: "more-options", type: "button", "aria-label": counted(left.length, "more option") },
      icon("plus", 14),
      `${left.length} more`,
    );
    this.more.addEventListener("click", () => this.#offer(left));
    this.more.addEventListener("keydown", (event) => {
      if (this.suggestions.key(event)) return;
      if (event.key === "Backspace" && this.#blank) this.#leave(event);
    });
    this.more.addEventListener("blur", () => this.suggestions.hide());
    return this.more;
  }

  #offer(left) {
    const items = left.map((option) => ({
      label: option.name,
      detail: option.description,
      value: option,
    }));
    this.suggestions.show(this.more, "Options", items, (option) => {
      const field = this.#field(option);
      this.more.before(field);
      this.#moreButtonAgain();
      field.querySelector("input").focus();
    });
  }

  #moreButtonAgain() {
    const place = this.more.parentElement;
    const fresh = this.#moreButton();
    if (fresh) place.append(fresh);
  }

  #field(option) {
    return isFile(option) ? this.#fileField(option) : this.#textField(option);
  }

  #fileField(option) {
    const input = el("input", {
      type: "file",
      "aria-label": `${option.name}: ${option.description ?? ""}`,
      "aria-required": String(Boolean(option.required)),
    });
    const field = { option, input, value: undefined };
    this.fields.set(option.name, field);
    input.addEventListener("change", async () => {
      clearErrors(this.box);
      const [file] = input.files;
      field.value = undefined;
      if (file) field.value = (await attempt(() => encodedFile(file))) ?? undefined;
      if (!field.value) input.value = "";
    });
    input.addEventListener("keydown", (event) => this.#key(event, option));
    return el("label", { class: "option-field" }, el("span", {}, option.name), input);
  }

  #textField(option) {
    const input = el("input", {
      type: "text",
      autocomplete: "off",
      "aria-label": `${option.name}: ${option.description ?? ""}`,
      placeholder: option.description ?? "",
      "aria-required": String(Boolean(option.required)),
      "aria-autocomplete": "list",
    });
    const field = el("label", { class: "option-field" }, el("span", {}, option.name), input);
    this.fields.set(option.name, { option, input, value: undefined });
    const suggest = debounce(COMPLETE_MS, () => this.#suggest(option.name));
    input.addEventListener("input", () => {
      this.fields.get(option.name).value = undefined;
      clearErrors(this.box);
      suggest();
    });
    input.addEventListener("focus", () => this.#suggest(option.name));
    input.addEventListener("blur", () => this.suggestions.hide());
    input.addEventListener("keydown", (event) => this.#key(event, option));
    return field;
  }

  #key(event, option) {
    if (this.suggestions.key(event) || event.isComposing) return;
    if (event.key === "Enter") this.submit(event);
    else if (event.key === "Backspace" && !event.target.value) this.#drop(event, option);
  }

  #drop(event, option) {
    event.preventDefault();
    if (option.required) {
      if (this.#blank) this.#leave(event);
      else this.box.querySelector(".command-chip").focus();
      return;
    }
    this.fields.delete(option.name);
    event.target.closest(".option-field").remove();
    const place = this.box;
    const fresh = this.#moreButton();
    if (fresh) place.append(fresh);
    fresh?.focus();
  }

  async #suggest(name) {
    const field = this.fields.get(name);
    // What was typed last may be asked about when the command has run already.
    if (!this.open || !field) return;
    const turn = ++this.asked;
    const items = await suggestionsFor(this.app, this.command, field, this.#values(name));
    if (!this.open || turn !== this.asked || document.activeElement !== field.input) return;
    this.suggestions.show(field.input, field.option.name, items, (choice) => {
      field.input.value = choice.label;
      field.value = choice.value;
      this.#next(field.input);
    });
  }

  #next(input) {
    const inputs = [...this.box.querySelectorAll("input")];
    inputs[inputs.indexOf(input) + 1]?.focus();
  }

  // What is filled in, without `except`.
  #values(except = null) {
    const values = {};
    for (const [name, field] of this.fields) {
      const value = name === except ? undefined : readValue(this.app, field);
      // A file is nothing that the choices of another option depend on.
      if (except !== null && isFile(field.option)) continue;
      if (value !== undefined && !(value instanceof Error)) values[name] = value;
    }
    return values;
  }

  async submit(event) {
    event.preventDefault();
    if (this.running) return;
    this.suggestions.hide();
    clearErrors(this.box);
    for (const field of this.fields.values()) {
      const value = readValue(this.app, field);
      if (value instanceof Error || (value === undefined && field.option.required)) {
        const words = value?.message ?? `${field.option.name} is needed.`;
        markField(field.input, field.input.closest(".option-field"), words);
        return;
      }
    }
    this.running = true;
    const begun = await runCommand(this.app, this.command, this.#values());
    this.running = false;
    if (!begun) return;
    this.#leave(event);
    this.app.answered(begun);
  }

  #leave(event) {
    event.preventDefault();
    this.close();
    this.done();
  }
}
