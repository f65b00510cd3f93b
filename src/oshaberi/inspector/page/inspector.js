// The inspector: what a stream was, what became of it, and why. Follows the newest one live.

import { clear, el } from "/page/js/dom.js";
import { Bar } from "./bar.js";
import { Degrees } from "./degrees.js";
import { MessageList } from "./list.js";
import { RawText } from "./raw.js";
import { Scrubber } from "./scrubber.js";
import { Timeline } from "./timeline.js";
import { Trace } from "./trace.js";

const LOOK_AGAIN_MS = 500;
const STYLE = "/page/extensions/inspector/inspector.css";

export function mountInspector(root, seam) {
  if (!document.querySelector(`link[href="${STYLE}"]`)) document.head.append(el("link", { rel: "stylesheet", href: STYLE }));
  const inspector = new Inspector(root, seam);
  inspector.start();
  return inspector;
}

class Inspector {
  constructor(root, { api, bus, selectMessage }) {
    this.api = api;
    this.streams = [];
    this.files = new Map(); // streams that were opened from files, by their id
    this.current = null;
    this.turn = 0; // counts loads: only the last one asked for is drawn
    this.follows = true;
    this.trace = this.drawn = null;
    this.selected = null;
    this.hovered = null;
    this.at = null; // null: the end, also while it moves
    const onSelect = (index) => this.select(index);
    const onHover = (index) => this.hover(index);
    this.bar = new Bar({ onPick: (id) => this.pick(id), onFollow: (on) => this.follow(on), onFile: (scene) => this.openFile(scene), scene: (id) => this.files.get(id)?.scene ?? this.#ask(() => api.get("stream_scene", { id })) });
    this.timeline = new Timeline({ onSeek: (ms) => this.seek(ms), onSelect, onHover });
    this.scrubber = new Scrubber({ onSeek: (ms) => this.seek(ms) });
    this.raw = new RawText({ onSelect, onHover });
    this.list = new MessageList({ onSelect, onHover, onShow: (id) => selectMessage?.(id) });
    this.degrees = new Degrees({ replay: (id, degree) => this.#ask(() => api.post("stream_replay", { id, degree, scene: this.files.get(id)?.scene })) });
    this.legend = legend();
    this.ending = el("p", { class: "in-ending" });
    this.failure = el("p", { class: "in-failure", hidden: true });
    this.others = el("div", { class: "in-others", hidden: true });
    this.origin = el("p", { class: "in-origin" });
    this.stuck = el("div", { class: "in-stuck" }, this.timeline.node, this.scrubber.node, this.raw.node);
    this.body = el("div", { class: "in-body", hidden: true },
      this.bar.tools, this.degrees.node, this.legend,
      this.stuck,
      heading("What was sent"), this.origin, this.list.node, this.ending, this.failure, this.others);
    this.empty = el("p", { class: "in-empty" }, "Nothing yet. Say something to the bot, and its stream appears here while it comes in.");
    clear(root, el("div", { class: "inspector" }, this.bar.node, this.empty, this.body));
    bus.addEventListener("STREAM", (event) => this.#heard(event.detail));
    bus.addEventListener("restarted", () => this.#anew());
    bus.addEventListener("select-message", (event) => this.showMessage(event.detail.id));
  }

  // Another process: it knows nothing of the streams we know.
  #anew() {
    this.turn += 1;
    this.#wait(null);
    this.busy = false;
    this.streams = [];
    this.current = this.trace = this.drawn = null;
    this.follows = true;
    this.scrubber.pause();
    this.body.hidden = true;
    this.empty.hidden = false;
    this.start();
  }

  async start() {
    const { turn } = this;
    const streams = await this.#ask(() => this.api.get("streams"));
    // What was heard meanwhile is newer.
    for (const stream of (streams ?? []).reverse()) if (!this.streams.some((one) => one.id === stream.id)) this.#keep(stream);
    this.streams.sort((a, b) => Number(b.id) - Number(a.id));
    // Somebody may have asked for another one than the newest meanwhile.
    if (this.streams.length && !this.current && turn === this.turn) await this.#load({ id: this.streams[0].id });
    else this.#drawBar();
  }

  // -- which stream ------------------------------------------------------------------------------

  #keep(stream) {
    const index = this.streams.findIndex((one) => one.id === stream.id);
    if (index < 0) this.streams.unshift(stream);
    else this.streams[index] = stream;
  }

  #heard(stream) {
    const isNew = !this.streams.some((one) => one.id === stream.id);
    this.#keep(stream);
    if (this.follows && (isNew || this.current === null)) this.#load({ id: stream.id });
    else if (stream.id === this.current) this.#soon(stream.running ? LOOK_AGAIN_MS : 0);
    this.#drawBar();
  }

  pick(id) {
    this.follows = this.streams[0]?.id === id && this.streams[0].running;
    this.#load({ id });
  }

  follow(on) {
    this.follows = on;
    if (on && this.streams.length && this.streams[0].id !== this.current) this.#load({ id: this.streams[0].id });
    this.#drawBar();
  }

  async showMessage(id) {
    if (this.trace && this.trace.indexOf(id) >= 0) {
      this.select(this.trace.indexOf(id), true);
      return;
    }
    this.follows = false;
    const turn = this.turn + 1;
    if (await this.#load({ message: String(id) })) this.select(this.trace.indexOf(id), true);
    else if (turn === this.turn && !this.current) await this.#newestInstead();
  }

  // Without forgetting why it is not what was asked for.
  async #newestInstead() {
    const reason = this.bar.state.textContent;
    await this.start();
    this.bar.say(reason, "bad");
  }

  // One that was saved as a file, by whomever.
  openFile(scene) {
    this.follows = false;
    return this.#show(async () => {
      const found = await this.api.post("stream_open", { scene });
      this.files.set(found.stream.id, { found, scene });
      return found;
    });
  }

  #load(which) {
    const file = this.files.get(which.id);
    return this.#show(() => file?.found ?? this.api.get("stream", which));
  }

  async #show(question) {
    const turn = (this.turn += 1);
    this.#wait(null);
    this.busy = true;
    const found = await this.#ask(question);
    if (turn !== this.turn) return false;
    this.busy = false;
    if (!found) return false;
    if (found.stream.id !== this.current) {
      this.current = found.stream.id;
      this.selected = this.hovered = this.at = null;
      this.scrubber.pause();
    }
    this.#keep(found.stream);
    // News of a stream that has ended may bring nothing new: what is looked at stays as it is.
    const whole = found.partial ? null : JSON.stringify(found);
    if (whole !== null && whole === this.drawn) {
      this.#drawRecord();
      return true;
    }
    this.drawn = whole;
    this.trace = new Trace(found);
    this.#draw();
    if (found.partial) this.#soon(LOOK_AGAIN_MS);
    return true;
  }

  // News that come fast do not put the next look off.
  #soon(ms) {
    const due = performance.now() + ms;
    if (this.timer && this.due <= due) return;
    this.due = due;
    this.#wait(setTimeout(() => this.#again(), ms));
  }

  // A look that takes long is not overtaken by the next one.
  #again() {
    this.#wait(null);
    if (this.busy) this.#soon(LOOK_AGAIN_MS);
    else this.#load({ id: this.current });
  }

  #wait(timer) {
    clearTimeout(this.timer);
    this.timer = timer;
  }

  async #ask(question) {
    try {
      const answer = await question();
      this.bar.say("");
      return answer;
    } catch (error) {
      this.bar.say(error.message, "bad");
      return null;
    }
  }

  // -- drawing -----------------------------------------------------------------------------------

  #drawBar() {
    this.bar.draw(this.streams, this.current, this.follows);
  }

  #draw() {
    const key = document.activeElement?.dataset?.key;
    this.empty.hidden = true;
    this.body.hidden = false;
    this.body.setAttribute("aria-busy", String(this.trace.partial));
    this.#drawBar();
    for (const part of [this.timeline, this.scrubber, this.raw, this.degrees]) part.draw(this.trace);
    this.list.draw(this.trace, this.selected);
    const { result } = this.trace.told;
    this.ending.textContent = result ? result.told : "It is still running.";
    this.#drawRecord();
    this.#place();
    this.#mark();
    if (key) this.body.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
  }

  // What is known from the recording alone: times, the error, the other streams of this answer.
  #drawRecord() {
    const { isRecorded, stream } = this.trace;
    this.origin.textContent = isRecorded
      ? "Times, tries and refusals were recorded while it ran. The reasons come from playing the stream again."
      : "Played again from the recorded stream: when it really was sent is not known here.";
    this.failure.hidden = !stream.error;
    this.failure.textContent = stream.error ? `It failed with: ${stream.error}` : "";
    const siblings = this.streams.filter((one) => one.turn && one.turn === stream.turn).reverse();
    this.others.hidden = siblings.length < 2;
    clear(this.others, "Streams of this answer: ", ...siblings.map((one, index) => this.#sibling(one, index)));
  }

  #sibling(one, index) {
    const ended = one.running ? "running" : (ENDINGS[one.status] ?? one.status);
    return el("button", { type: "button", class: "in-button", "aria-pressed": String(one.id === this.current), on: { click: () => this.pick(one.id) } }, `${index + 1}: ${ended}`);
  }

  #place() {
    const ms = this.at ?? this.trace.duration;
    for (const part of [this.timeline, this.scrubber, this.raw, this.list]) part.seek(ms);
  }

  #mark() {
    this.timeline.mark(this.selected, this.hovered);
    this.raw.mark(this.selected, this.hovered);
    this.list.mark(this.hovered);
  }

  seek(ms) {
    this.at = ms >= this.trace.duration ? null : ms;
    this.#place();
  }

  hover(index) {
    if (index === this.hovered) return;
    this.hovered = index;
    this.#mark();
  }

  select(index, scrolls = false) {
    if (index !== null && index < 0) return;
    const key = document.activeElement?.dataset?.key;
    this.selected = index;
    this.list.draw(this.trace, index);
    this.#place();
    this.#mark();
    if (key) this.body.querySelector(`[data-key="${key}"]`)?.focus({ preventScroll: true });
    if (index === null) return;
    this.raw.reveal(index);
    // What is stuck to the top must not cover what is shown below it.
    this.body.style.setProperty("--in-stuck", `${this.stuck.offsetHeight + this.bar.node.offsetHeight}px`);
    if (scrolls || !key?.startsWith("row-")) this.list.reveal(index);
  }
}

const ENDINGS = { completed: "completed", function_call: "called a tool", error: "failed", timeout: "timed out", stopped_by_user: "stopped" };
const SIGNS = [
  ["token", "a token arrives (recorded)"],
  ["pill", "a message is sent (recorded)"],
  ["queued", "it waits for the one before (played again)"],
  ["pause", "a pause before typing (played again)"],
  ["typing", "typing is shown (played again)"],
  ["retry", "refused or limited, and tried again (recorded)"],
];

function legend() {
  const rows = SIGNS.map(([kind, words]) => el("li", {}, el("i", { class: `in-sign ${kind}`, "aria-hidden": "true" }), words));
  const text = el("li", {}, "Colours in the text: which message it went into. Struck through: it was kept back. Italic: the model's thoughts.");
  return el("details", { class: "in-legend" }, el("summary", {}, "What the signs mean"), el("ul", {}, rows, text));
}

const heading = (text) => el("h3", { class: "in-heading" }, text);
