// Who is typing.

import { byId, el } from "../dom.js";

export class TypingLine {
  constructor(app) {
    this.app = app;
    this.line = byId("typing");
    for (const name of ["typing", "channel", "world", "reloaded"])
      app.store.addEventListener(name, () => this.draw());
  }

  draw() {
    const { store, people } = this.app;
    const names = store.typists(store.channelId).map((id) => people.user(id)?.name ?? "Somebody");
    const text =
      names.length > 3
        ? "Several people are typing…"
        : `${list(names)} ${names.length === 1 ? "is" : "are"} typing…`;
    this.line.replaceChildren(...(names.length ? [dots(), el("span", {}, text)] : []));
  }
}

function list(names) {
  return names.length < 2
    ? (names[0] ?? "")
    : `${names.slice(0, -1).join(", ")} and ${names.at(-1)}`;
}

function dots() {
  return el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i"));
}
