// One timeline: tokens above, messages below, waits shaded, and a line that says when.

import { clear, el } from "/page/js/dom.js";
import { lanes, preview, seconds } from "./trace.js";

const SVG = "http://www.w3.org/2000/svg";
const WIDE = 1000;
const TALL = 24;
const ROW_PX = 24;
const MOST_ROWS = 5;
const PILL_SHARE = 0.062;
const MARKS = { call: "⚙", error: "⚠", stop: "■", follow_up: "↩" };
const MARK_NAMES = { call: "Tool call", error: "Error", stop: "Stopped", follow_up: "The user wrote again" };

export class Timeline {
  constructor({ onSeek, onSelect, onHover }) {
    this.onSeek = onSeek;
    this.onSelect = onSelect;
    this.onHover = onHover;
    this.tokens = el("div", { class: "in-tokens", "aria-hidden": "true" });
    this.rows = el("div", { class: "in-rows", role: "group", "aria-label": "Messages on the timeline" });
    this.axis = el("div", { class: "in-axis", "aria-hidden": "true" });
    this.head = el("div", { class: "in-head", "aria-hidden": "true" });
    this.field = el("div", { class: "in-field" }, this.tokens, this.axis, this.rows, this.head);
    this.node = el("div", { class: "in-timeline" }, this.field);
    this.#draggable();
  }

  draw(trace) {
    this.trace = trace;
    clear(this.tokens, tokenMarks(trace), ...stepMarks(trace));
    clear(this.axis, ...ticks(trace.duration));
    const rows = lanes(trace.messages, trace.duration, PILL_SHARE, MOST_ROWS);
    const parts = trace.messages.map((message, index) => this.#message(message, index, rows[index]));
    clear(this.rows, ...parts.flat());
    this.rows.style.height = `${(Math.max(0, ...rows) + 1) * ROW_PX}px`;
  }

  #message(message, index, row) {
    const { duration } = this.trace;
    const top = `${row * ROW_PX}px`;
    const bar = (kind, from, to) => (to > from ? el("i", { class: `in-wait ${kind}`, style: { left: share(from, duration), width: share(to - from, duration), top } }) : null);
    // Recorded: from the first try on. Played again: what was before it.
    const [tried] = message.send?.tries ?? [];
    const first = tried ? tried.at_ms - tried.waited_ms : message.at_ms;
    const before = this.trace.messages[index - 1]?.at_ms ?? 0;
    const turn = Math.min(first, Math.max(message.ready_ms + message.queued_ms, before));
    const typing = Math.max(turn, first - message.typing_ms);
    const pill = el("button", {
      type: "button", class: `in-pill ${message.kind}`, "aria-label": `Message ${message.number}, sent at ${seconds(message.at_ms)}`, title: preview(message).slice(0, 120),
      data: { key: `pill-${index}`, message: String(index) }, style: { left: share(message.at_ms, duration), top },
    }, String(message.number));
    pill.addEventListener("click", () => this.onSelect(index));
    pill.addEventListener("pointerenter", () => this.onHover(index));
    pill.addEventListener("pointerleave", () => this.onHover(null));
    return [bar("queued", message.ready_ms, turn), bar("pause", turn, typing), bar("typing", typing, first), bar("retry", first, message.at_ms), pill];
  }

  seek(ms) {
    this.head.style.left = share(ms, this.trace.duration);
    for (const pill of this.rows.querySelectorAll(".in-pill")) pill.classList.toggle("later", this.trace.messages[pill.dataset.message].at_ms > ms);
  }

  mark(selected, hovered) {
    for (const pill of this.rows.querySelectorAll(".in-pill")) {
      const index = Number(pill.dataset.message);
      pill.classList.toggle("selected", index === selected);
      pill.classList.toggle("hovered", index === hovered);
      pill.setAttribute("aria-pressed", String(index === selected));
    }
  }

  #draggable() {
    const seek = (event) => {
      const box = this.field.getBoundingClientRect();
      const part = Math.min(1, Math.max(0, (event.clientX - box.left) / box.width));
      this.onSeek(part * this.trace.duration);
    };
    this.field.addEventListener("pointerdown", (event) => {
      if (!this.trace || event.target.closest(".in-pill")) return;
      this.field.setPointerCapture(event.pointerId);
      seek(event);
      this.field.addEventListener("pointermove", seek);
      const end = () => this.field.removeEventListener("pointermove", seek);
      this.field.addEventListener("pointerup", end, { once: true });
      this.field.addEventListener("pointercancel", end, { once: true });
    });
  }
}

const share = (ms, duration) => `${(100 * ms) / duration}%`;

// A stroke per token, as high as it is long; thoughts of the model's own channel hang from above.
function tokenMarks(trace) {
  const box = document.createElementNS(SVG, "svg");
  box.setAttribute("viewBox", `0 0 ${WIDE} ${TALL}`);
  box.setAttribute("preserveAspectRatio", "none");
  const x = (ms) => ((WIDE * ms) / trace.duration).toFixed(1);
  const tall = (size) => Math.min(TALL, 7 + 2.2 * size).toFixed(0);
  const text = trace.told.tokens.map((token) => `M${x(token.at_ms)} ${TALL}v-${tall(token.span[1] - token.span[0])}`);
  const thoughts = trace.told.steps.filter((step) => step.kind === "thought").map((step) => `M${x(step.at_ms)} 0v9`);
  box.append(strokes(text, "in-strokes"), strokes(thoughts, "in-strokes thought"));
  return box;
}

function strokes(parts, kind) {
  const path = document.createElementNS(SVG, "path");
  path.setAttribute("d", parts.join(""));
  path.setAttribute("class", kind);
  return path;
}

function stepMarks(trace) {
  return trace.told.steps.filter((step) => MARKS[step.kind]).map((step) =>
    el("span", { class: `in-mark ${step.kind}`, title: `${MARK_NAMES[step.kind]} ${step.text ?? ""}`.trim(), style: { left: share(step.at_ms, trace.duration) } }, MARKS[step.kind]));
}

function ticks(duration) {
  const rough = duration / 4;
  const unit = 10 ** Math.floor(Math.log10(rough));
  const step = [1, 2, 5, 10].map((n) => n * unit).find((size) => size >= rough);
  const found = [];
  for (let ms = 0; ms <= duration * 0.95; ms += step) found.push(el("span", { style: { left: share(ms, duration) } }, label(ms, step)));
  return found;
}

function label(ms, step) {
  if (ms === 0) return "0";
  if (step < 100) return `${Math.round(ms)} ms`;
  return step < 1000 ? `${(ms / 1000).toFixed(1)} s` : `${Math.round(ms / 1000)} s`;
}
