// Steps through a stream: a slider over its time, buttons for the next thing that happens, and play.

import { counted, el } from "/page/js/dom.js";
import { seconds } from "./trace.js";

export class Scrubber {
  constructor({ onSeek }) {
    this.onSeek = onSeek;
    this.slider = el("input", { type: "range", class: "in-scrub", min: "0", max: "1", step: "1", "aria-label": "Time in the stream" });
    this.back = stepButton("◂", "Back by one step");
    this.play = stepButton("▶", "Play");
    this.next = stepButton("▸", "On by one step");
    this.said = el("output", { class: "in-when" });
    this.node = el("div", { class: "in-stepper" }, this.back, this.play, this.next, this.slider, this.said);
    this.slider.addEventListener("input", () => this.#go(Number(this.slider.value)));
    this.slider.addEventListener("keydown", (event) => this.#key(event));
    this.back.addEventListener("click", () => this.step(-1));
    this.next.addEventListener("click", () => this.step(1));
    this.play.addEventListener("click", () => (this.running ? this.pause() : this.start()));
  }

  draw(trace) {
    this.trace = trace;
    this.slider.max = String(Math.ceil(trace.duration));
  }

  seek(ms) {
    const { trace } = this;
    this.ms = ms;
    this.slider.value = String(Math.round(ms));
    const words = `${trace.arrived(ms)} of ${counted(trace.told.tokens.length, "token")}, ${trace.sent(ms)} of ${counted(trace.messages.length, "message")}`;
    this.said.textContent = `${seconds(ms)} · ${words}`;
    this.slider.setAttribute("aria-valuetext", `${seconds(ms)}, ${words}`);
  }

  // To the next moment at which something happens; with `only`, at which a message is sent.
  step(direction, only = false) {
    const times = only ? this.trace.messages.map((message) => message.at_ms) : this.trace.moments;
    const sorted = direction > 0 ? times : [...times].reverse();
    const found = sorted.find((ms) => (ms - this.ms) * direction > 0.5);
    this.#go(found ?? (direction > 0 ? this.trace.duration : 0));
  }

  #key(event) {
    const direction = { ArrowLeft: -1, ArrowDown: -1, ArrowRight: 1, ArrowUp: 1 }[event.key];
    if (direction) this.step(direction, event.shiftKey);
    else if (event.key === "PageUp" || event.key === "PageDown") this.step(event.key === "PageUp" ? 1 : -1, true);
    else if (event.key === " ") this.play.click();
    else return;
    event.preventDefault();
  }

  #go(ms) {
    this.pause();
    this.onSeek(ms);
  }

  start() {
    if (this.ms >= this.trace.duration - 1) this.onSeek(0);
    this.#look("⏸", "Pause");
    let last = performance.now();
    const frame = (now) => {
      if (!this.running) return;
      const ms = Math.min(this.trace.duration, this.ms + now - last);
      last = now;
      this.onSeek(ms);
      if (ms >= this.trace.duration) this.pause();
      else this.running = requestAnimationFrame(frame);
    };
    this.running = requestAnimationFrame(frame);
  }

  pause() {
    if (!this.running) return;
    cancelAnimationFrame(this.running);
    this.running = 0;
    this.#look("▶", "Play");
  }

  #look(sign, name) {
    this.play.textContent = sign;
    this.play.setAttribute("aria-label", name);
  }
}

const stepButton = (sign, name) => el("button", { type: "button", class: "in-step", "aria-label": name, title: name }, sign);
