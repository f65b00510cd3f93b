// The raw stream: every character that arrived, coloured by the message it went into.

import { clear, el } from "/page/js/dom.js";

export class RawText {
  constructor({ onSelect, onHover }) {
    this.onSelect = onSelect;
    this.onHover = onHover;
    this.box = el("div", { class: "in-raw", dir: "auto", tabindex: "0", role: "group", "aria-label": "What the model wrote" });
    this.reason = el("p", { class: "in-reason", role: "status" });
    this.node = el("div", { class: "in-raw-part" }, this.box, this.reason);
    this.box.addEventListener("click", (event) => this.#picked(event.target));
    this.box.addEventListener("pointerover", (event) => this.#over(event.target));
    this.box.addEventListener("pointerleave", () => this.#over(null));
  }

  draw(trace) {
    const atEnd = this.box.scrollTop + this.box.clientHeight >= this.box.scrollHeight - 8;
    this.trace = trace;
    this.spans = trace.cells.map((cell, index) => this.#span(cell, index));
    clear(this.box, ...this.spans);
    this.spans.length || this.box.append(el("span", { class: "in-nothing" }, "Nothing has arrived yet."));
    if (trace.partial && atEnd) this.box.scrollTop = this.box.scrollHeight;
  }

  #span(cell, index) {
    const node = el("span", { data: { cell: String(index) } }, cell.text);
    const reason = this.#why(cell);
    if (reason) node.title = reason;
    if (cell.captured >= 0) node.className = "captured";
    else if (cell.withheld >= 0) node.className = "withheld";
    else if (cell.lost >= 0) node.className = this.trace.partial ? "waiting" : "lost";
    else if (cell.visible < 0) node.className = "tag-text";
    else if (cell.message >= 0) node.className = `source tint-${cell.message % 4}`;
    return node;
  }

  #why(cell) {
    const { told } = this.trace;
    if (cell.captured >= 0) return `${told.captured[cell.captured].why}.`;
    if (cell.withheld >= 0) return `Withheld: ${told.withheld[cell.withheld].why}.`;
    if (cell.lost >= 0) return `Not sent${this.trace.partial ? " yet" : ""}: ${told.lost[cell.lost].why}.`;
    return "";
  }

  seek(ms) {
    const arrived = this.trace.arrived(ms);
    this.trace.cells.forEach((cell, index) => this.spans[index].classList.toggle("later", cell.token >= arrived));
  }

  mark(selected, hovered) {
    this.trace.cells.forEach((cell, index) => {
      const { classList } = this.spans[index];
      classList.toggle("selected", cell.message >= 0 && cell.message === selected);
      classList.toggle("hovered", cell.message >= 0 && cell.message === hovered);
    });
  }

  reveal(selected) {
    const index = this.trace.cells.findIndex((cell) => cell.message === selected);
    if (index < 0) return;
    const span = this.spans[index];
    const top = span.offsetTop - this.box.offsetTop;
    const inside = top >= this.box.scrollTop && top <= this.box.scrollTop + this.box.clientHeight * 0.6;
    if (!inside) this.box.scrollTop = Math.max(0, top - 24);
  }

  #cell(target) {
    const index = target?.dataset?.cell;
    return index === undefined ? null : this.trace.cells[index];
  }

  #over(target) {
    const cell = this.#cell(target);
    this.reason.textContent = cell ? this.#why(cell) : "";
    this.onHover(cell && cell.message >= 0 ? cell.message : null);
  }

  #picked(target) {
    const cell = this.#cell(target);
    if (!cell) return;
    this.reason.textContent = this.#why(cell);
    if (cell.message >= 0) this.onSelect(cell.message);
  }
}
