// A list of suggestions above an input that keeps the focus: arrows choose, Enter or Tab takes.

import { byId, clear, el, freshId } from "../dom.js";

const MOST = 50;

export class Suggestions {
  constructor() {
    this.box = byId("suggestions");
    this.items = [];
    this.at = 0;
    this.input = null;
    this.pick = () => {};
  }

  get open() {
    return !this.box.hidden;
  }

  get chosen() {
    return this.open ? this.items[this.at].value : null;
  }

  // items: {label, detail, picture, value}
  show(input, title, items, pick) {
    this.hide();
    if (!items.length) return;
    this.items = items.slice(0, MOST);
    this.input = input;
    this.pick = pick;
    this.box.setAttribute("aria-label", title);
    clear(
      this.box,
      el("div", { class: "suggestions-title", role: "presentation" }, title),
      this.items.map((item, i) => this.#option(item, i)),
    );
    this.box.hidden = false;
    input.setAttribute("aria-controls", this.box.id);
    this.#choose(0);
  }

  #option(item, i) {
    const option = el(
      "div",
      { role: "option", id: freshId("option"), class: "suggestion", "aria-selected": "false" },
      item.picture ?? null,
      el("span", { class: "suggestion-label", dir: "auto" }, item.label),
      item.detail ? el("span", { class: "suggestion-detail", dir: "auto" }, item.detail) : null,
    );
    // The input must not lose the focus.
    option.addEventListener("pointerdown", (event) => event.preventDefault());
    option.addEventListener("click", () => this.#take(i));
    return option;
  }

  hide() {
    if (!this.open) return;
    this.box.hidden = true;
    this.input?.removeAttribute("aria-activedescendant");
    this.input?.removeAttribute("aria-controls");
  }

  #choose(at) {
    const options = [...this.box.querySelectorAll("[role=option]")];
    this.at = (at + options.length) % options.length;
    options.forEach((option, i) => option.setAttribute("aria-selected", String(i === this.at)));
    options[this.at].scrollIntoView({ block: "nearest" });
    this.input.setAttribute("aria-activedescendant", options[this.at].id);
  }

  #take(i) {
    const item = this.items[i];
    this.hide();
    this.pick(item.value);
  }

  // True if the key was for the list.
  key(event) {
    if (!this.open) return false;
    const run = {
      ArrowDown: () => this.#choose(this.at + 1),
      ArrowUp: () => this.#choose(this.at - 1),
      Enter: () => this.#take(this.at),
      Tab: () => this.#take(this.at),
      Escape: () => this.hide(),
    }[event.key];
    if (!run || event.shiftKey || event.isComposing) return false;
    event.preventDefault();
    event.stopPropagation();
    run();
    return true;
  }
}
