// Which stream is looked at: any of the past ones, always the newest, or one from a file; and the
// stream as a file to take away.

import { clear, el, freshId } from "/page/js/dom.js";

const COPIED_MS = 1800;

export class Bar {
  constructor({ onPick, onFollow, onFile, scene }) {
    this.scene = scene;
    const id = freshId("stream");
    this.choice = el("select", { id, class: "in-choice" });
    this.follow = el("button", { type: "button", class: "in-button", "aria-pressed": "true", title: "Always show the newest stream" }, el("i", { class: "in-dot", "aria-hidden": "true" }), "Follow");
    this.copy = el("button", { type: "button", class: "in-button" }, "Copy as a scene");
    this.save = el("button", { type: "button", class: "in-button", title: "A file that others can open here, or play with oshaberi replay" }, "Save as a file");
    this.state = el("p", { class: "in-state", role: "status" });
    this.file = el("input", { type: "file", accept: ".json,application/json", class: "sr", "aria-label": "Open a stream from a file" });
    this.open = el("button", { type: "button", class: "in-button", title: "Look at a stream that somebody saved as a file" }, "Open a file…");
    this.node = el("div", { class: "in-bar" }, el("label", { class: "sr", for: id }, "Stream"), this.choice, this.follow, this.state);
    this.tools = el("div", { class: "in-tools" }, this.copy, this.save, this.open, this.file);
    this.open.addEventListener("click", () => this.file.click());
    this.file.addEventListener("change", () => this.#chosen(onFile));
    this.choice.addEventListener("change", () => onPick(this.choice.value));
    this.follow.addEventListener("click", () => onFollow(this.follow.getAttribute("aria-pressed") !== "true"));
    this.copy.addEventListener("click", () => this.#copy());
    this.save.addEventListener("click", () => this.#save());
  }

  draw(streams, current, follows) {
    clear(this.choice, ...streams.map((stream) => el("option", { value: stream.id }, title(stream))));
    this.choice.disabled = !streams.length;
    this.choice.value = current ?? "";
    this.follow.setAttribute("aria-pressed", String(follows));
    const stream = streams.find((one) => one.id === current);
    this.node.classList.toggle("live", Boolean(stream?.running));
    this.copy.disabled = this.save.disabled = !stream;
    this.current = stream;
  }

  say(text, kind = "") {
    this.state.textContent = text;
    this.state.className = `in-state ${kind}`;
  }

  async #chosen(onFile) {
    const [file] = this.file.files;
    this.file.value = "";
    if (!file) return;
    try {
      onFile(JSON.parse(await file.text()));
    } catch {
      this.say(`${file.name} is no stream that was saved here.`, "bad");
    }
  }

  async #text() {
    const scene = await this.scene(this.current.id);
    return scene && `${JSON.stringify(scene, null, 2)}\n`;
  }

  async #copy() {
    const text = await this.#text();
    if (!text) return;
    try {
      await navigator.clipboard.writeText(text);
      this.#flash(this.copy, "Copied");
    } catch {
      this.say("The browser does not allow copying here; download it instead.", "bad");
    }
  }

  async #save() {
    const text = await this.#text();
    if (!text) return;
    const url = URL.createObjectURL(new Blob([text], { type: "application/json" }));
    el("a", { href: url, download: `stream-${this.current.id}.json` }).click();
    setTimeout(() => URL.revokeObjectURL(url), COPIED_MS);
  }

  #flash(button, words) {
    const before = button.textContent;
    button.textContent = words;
    setTimeout(() => (button.textContent = before), COPIED_MS);
  }
}

function title(stream) {
  if (stream.name !== undefined) return `From a file: ${stream.name}`;
  const when = new Date(stream.began).toLocaleTimeString([], { hour: "2-digit", minute: "2-digit", second: "2-digit" });
  const said = stream.said.replaceAll(/\s+/g, " ").trim().slice(0, 48) || (stream.running ? "…" : "(nothing)");
  return [when, stream.persona || stream.model, stream.running ? `▶ ${said}` : said].filter(Boolean).join(" · ");
}
