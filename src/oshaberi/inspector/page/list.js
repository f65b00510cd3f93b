// The messages of a stream, and for the one that is open: why it is as it is.

import { clear, el } from "/page/js/dom.js";
import { preview, seconds } from "./trace.js";

const LATE_MS = 500;

export class MessageList {
  constructor({ onSelect, onHover, onShow }) {
    this.onSelect = onSelect;
    this.onHover = onHover;
    this.onShow = onShow;
    this.node = el("ol", { class: "in-list" });
    this.node.addEventListener("keydown", (event) => this.#key(event));
  }

  #key(event) {
    const step = { ArrowDown: 1, ArrowUp: -1 }[event.key];
    const rows = [...this.node.querySelectorAll(".in-row")];
    const at = rows.indexOf(document.activeElement);
    if (!step || at < 0) return;
    event.preventDefault();
    rows[at + step]?.focus();
  }

  draw(trace, selected) {
    this.trace = trace;
    const left = trace.told.lost.map((one) => unsent(one, trace.partial));
    clear(this.node, ...trace.messages.map((message, index) => this.#row(message, index, index === selected)), ...left);
    if (!trace.messages.length && !left.length) this.node.append(el("li", { class: "in-nothing" }, trace.partial ? "No message yet." : "It sent nothing."));
  }

  #row(message, index, open) {
    const who = message.username ? el("b", { class: "in-who" }, message.username) : null;
    const head = el("button", { type: "button", class: "in-row", "aria-expanded": String(open), data: { key: `row-${index}` } },
      el("span", { class: `in-number tint-${index % 4}` }, String(message.number)),
      el("span", { class: "in-preview", dir: "auto" }, who, preview(message)),
      el("time", {}, seconds(message.at_ms)));
    head.addEventListener("click", () => this.onSelect(open ? null : index));
    const item = el("li", { class: `in-item${open ? " open" : ""}`, data: { message: String(index) } }, head, open ? this.#about(message) : null);
    item.addEventListener("pointerenter", () => this.onHover(index));
    item.addEventListener("pointerleave", () => this.onHover(null));
    return item;
  }

  #about(message) {
    const { told } = this.trace;
    const inSpan = (one) => message.spans.some(([start, end]) => one.span[0] >= start && one.span[1] <= end);
    return el("div", { class: "in-about" },
      el("p", { class: "in-why" }, message.why),
      message.send ? sent(message) : null,
      facts(message),
      part("Holds", message.holds.map((index) => hold(told.holds[index]))),
      part("Changes", message.changes.map(change)),
      part("Cuts", message.cuts.map((cut) => el("li", {}, cut))),
      part("Withheld", told.withheld.filter(inSpan).map((one) => el("li", {}, el("del", {}, flat(one.text)), ` ${one.why}.`))),
      message.id ? el("button", { type: "button", class: "in-button", on: { click: () => this.onShow(message.id) } }, "Show it in the chat") : null);
  }

  seek(ms) {
    for (const item of this.node.querySelectorAll(".in-item")) item.classList.toggle("later", this.trace.messages[item.dataset.message].at_ms > ms);
  }

  mark(hovered) {
    for (const item of this.node.querySelectorAll(".in-item")) item.classList.toggle("hovered", Number(item.dataset.message) === hovered);
  }

  reveal(index) {
    const item = this.node.querySelector(`[data-message="${index}"]`);
    item?.scrollIntoView({ block: item.offsetHeight > innerHeight / 2 ? "start" : "nearest" });
  }
}

// What happened, as it was noted when it happened.
function sent(message) {
  const { tries } = message.send;
  return el("section", { class: "in-part in-recorded" }, el("h4", {}, "Recorded"),
    late(message),
    el("ol", {}, tries.map((one, index) => el("li", { class: one.status >= 200 && one.status < 300 ? "" : "bad" },
      `${tries.length > 1 ? `Try ${index + 1}: ` : ""}${one.told} at ${seconds(one.at_ms)}${gap(tries, index)}${waited(one)}`))));
}

const waited = ({ waited_ms: ms }) => (ms ? `, kept back for ${seconds(ms)} by Discord's limits or an earlier request` : "");

// Only the sum of the reasons is known.
function late({ played_ms, send }) {
  const ms = played_ms === undefined ? 0 : send.tries[0].at_ms - played_ms;
  return ms > LATE_MS && !send.tries[0].waited_ms ? el("p", {}, `It left ${seconds(ms)} later than when played again: what came before it was late, or the machine was busy.`) : null;
}

function gap(tries, index) {
  const before = tries[index - 1];
  return before ? `, ${seconds(tries[index].at_ms - (before.answered_ms ?? before.at_ms))} later` : "";
}

function facts(message) {
  const rows = [
    ["Boundary", message.boundary],
    ["Ready", seconds(message.ready_ms)],
    ["In the queue", message.queued_ms ? seconds(message.queued_ms) : null],
    ["Waited", message.wait_ms ? seconds(message.wait_ms) : null],
    ["Typing shown", message.typing_ms ? seconds(message.typing_ms) : null],
    ["Sent", `${seconds(message.played_ms ?? message.at_ms)}${message.via === "webhook" ? ", by webhook" : ""}${message.reply ? ", as a reply" : ""}`],
    ["Label", message.identity?.label],
    ["Edits", message.edits.length || null],
    ["Pictures", message.files.map((file) => `${file.width} × ${file.height}`).join(", ") || null],
  ];
  return el("section", { class: "in-part" }, el("h4", { title: "The recorded stream, run once more through the same pipeline" }, "Played again"), el("dl", { class: "in-facts" }, rows.filter(([, value]) => value !== null && value !== undefined).map(([name, value]) => [el("dt", {}, name), el("dd", {}, String(value))])));
}

const part = (title, items) => (items.length ? el("section", { class: "in-part" }, el("h4", {}, title), el("ul", {}, items)) : null);

function hold(one) {
  const until = one.until_ms === null ? "" : ` for ${seconds(one.until_ms - one.from_ms)}`;
  return el("li", {}, el("code", {}, one.marker), ` held the end of a line${until}. ${one.why}`);
}

function change(one) {
  return el("li", { class: "in-change" }, el("p", {}, `${one.why}.`),
    el("div", { class: "in-before", dir: "auto" }, el("span", { class: "sr" }, "Before: "), one.before),
    el("div", { class: "in-after", dir: "auto" }, el("span", { class: "sr" }, "After: "), one.after || "(nothing is left)"));
}

function unsent(one, waits) {
  return el("li", { class: `in-unsent ${waits ? "waiting" : "lost"}` }, el("span", { class: "in-number" }, waits ? "…" : "✕"),
    el("span", { class: "in-preview", dir: "auto" }, waits ? one.text : el("del", {}, one.text)), el("small", {}, `${one.why}.`));
}

const flat = (text) => text.replaceAll("\n", "⏎");
