// The same stream at another degree, beside what was sent.

import { clear, counted, el, freshId } from "/page/js/dom.js";
import { preview, seconds } from "./trace.js";

const NAMES = ["all in one", "line by line, at once", "line by line, typed", "sentence by sentence, casual"];
const WAIT_MS = 150;

export class Degrees {
  constructor({ replay }) {
    this.replay = replay;
    const id = freshId("degree");
    this.slider = el("input", { id, type: "range", min: "0", max: "3", step: "1", list: `${id}-list` });
    this.said = el("output", { for: id });
    this.columns = el("div", { class: "in-columns" });
    this.node = el("section", { class: "in-degrees", "aria-label": "Another degree" },
      el("div", { class: "in-degree" }, el("label", { for: id }, "Degree"), this.slider, this.said),
      el("datalist", { id: `${id}-list` }, NAMES.map((_, degree) => el("option", { value: String(degree) }))),
      this.columns);
    this.slider.addEventListener("input", () => this.#moved());
    this.slider.addEventListener("change", () => this.#moved());
  }

  draw(trace) {
    const other = this.trace?.stream.id !== trace.stream.id;
    this.trace = trace;
    this.slider.disabled = trace.partial;
    if (other || trace.partial) {
      this.wanted = trace.told.degree;
      this.slider.value = String(trace.told.degree);
      this.#show(null);
    }
    this.#name();
  }

  #name() {
    const degree = Number(this.slider.value);
    this.said.textContent = `${degree}: ${NAMES[degree]}`;
    this.slider.setAttribute("aria-valuetext", `${degree}, ${NAMES[degree]}`);
  }

  #moved() {
    const degree = Number(this.slider.value);
    this.#name();
    if (degree === this.wanted) return;
    this.wanted = degree;
    clearTimeout(this.timer);
    this.timer = setTimeout(() => this.#replay(degree), WAIT_MS);
  }

  async #replay(degree) {
    const { id } = this.trace.stream;
    if (degree === this.trace.told.degree) return this.#show(null);
    this.columns.setAttribute("aria-busy", "true");
    const found = await this.replay(id, degree);
    if (found && this.wanted === degree && this.trace.stream.id === id) this.#show(found);
    return undefined;
  }

  #show(found) {
    this.columns.removeAttribute("aria-busy");
    if (!found) {
      const hint = this.trace.partial ? "When the stream has ended, it can be replayed at another degree." : "Move the slider to replay the same stream beside what was sent.";
      clear(this.columns, el("p", { class: "in-hint" }, hint));
      return;
    }
    clear(this.columns, column(`As sent (${this.trace.told.degree})`, this.trace.messages), column(`At degree ${found.degree}, played again`, found.messages));
  }
}

function column(title, messages) {
  const last = messages.at(-1);
  const count = counted(messages.length, "message");
  return el("div", { class: "in-column" }, el("h3", {}, title), el("p", { class: "in-count" }, last ? `${count} in ${seconds(last.at_ms)}` : "nothing"),
    el("ol", {}, messages.map((message) => el("li", { class: `in-bubble ${message.kind}`, dir: "auto" }, message.username ? el("b", {}, message.username) : null, preview(message), el("time", {}, seconds(message.at_ms))))));
}
