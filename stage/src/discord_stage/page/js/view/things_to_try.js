// "Things to try": every prompt in its group, and what else there is on the page; ticks what was seen.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";
import { openBreakMenu } from "./breaking.js";
import { openDialog } from "./dialog.js";

const TRIED = "stage.tried";
const OTHERS = "Prompts";

// What is no prompt: each leads to the button that does it from then on. Extensions add to it.
const AROUND = [
  {
    title: "Break Discord ⚡",
    text: "Let the next message meet an error, a rate limit or a broken connection",
    run: (app) => openBreakMenu(app, byId("break")),
  },
];
export const BREAK = AROUND[0].title;

export class ThingsToTry {
  constructor(app) {
    this.app = app;
    this.seen = new Set(read());
    this.around = [...AROUND];
    this.button = byId("things-to-try");
    clear(this.button, icon("spark", 20), el("span", { class: "head-words" }, "Things to try"));
    this.button.addEventListener("click", () => this.open());
  }

  add(entry) {
    this.around.push(entry);
  }

  tick(title) {
    this.seen.add(title);
    localStorage.setItem(TRIED, JSON.stringify([...this.seen]));
  }

  // What is said in the channel that is open; `{bot}` becomes a mention.
  say(prompt) {
    const { store, api } = this.app;
    const direct = !store.channels.get(store.channelId)?.guild_id;
    const content = direct ? words(prompt) : prompt.text.replaceAll("{bot}", `<@${store.world.bot.id}>`);
    this.tick(prompt.title);
    return attempt(() => api.post("post", { channel: store.channelId, user: store.me, content }));
  }

  open() {
    const groups = Map.groupBy(this.app.prompts, (prompt) => prompt.group ?? OTHERS);
    const dialog = openDialog({
      title: "Things to try",
      className: "tries",
      content: [
        this.#count(),
        ...[...groups].map(([name, prompts]) =>
          section(name, prompts.map((one) => this.#entry(one, words(one), () => this.say(one)))),
        ),
        section("On this page", this.around.map((one) => this.#entry(one, one.text, () => one.run(this.app)))),
      ],
    });
    this.dialog = dialog;
  }

  #count() {
    const all = [...this.app.prompts, ...this.around];
    const seen = all.filter((one) => this.seen.has(one.title)).length;
    return el("p", { class: "hint" }, `${seen} of ${all.length} seen. A click posts the prompt in this channel.`);
  }

  #entry(one, text, run) {
    const seen = this.seen.has(one.title);
    const button = el(
      "button",
      { class: seen ? "try seen" : "try", type: "button" },
      el("span", { class: "tick" }, seen ? icon("check", 16) : null, seen ? el("span", { class: "sr" }, "Seen: ") : null),
      el("span", {}, el("b", {}, one.title), el("span", { dir: "auto" }, text)),
    );
    button.addEventListener("click", () => {
      this.dialog.close();
      run();
    });
    return button;
  }
}

const words = (prompt) => prompt.text.replaceAll("{bot}", "").trim();

const section = (title, entries) =>
  el("section", { class: "try-group", "aria-label": title }, el("h3", {}, title), entries);

function read() {
  try {
    return JSON.parse(localStorage.getItem(TRIED)) ?? [];
  } catch {
    return [];
  }
}
