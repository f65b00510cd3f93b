// "Things to try": every prompt in its group, and what else there is on the page; ticks what was seen.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";
import { openBreakMenu } from "./breaking.js";
import { openConnect } from "./connect_model.js";
import { openDialog } from "./dialog.js";

const TRIED = "oshaberi.tried";
const OTHERS = "Prompts";

// What is no prompt: each leads to the button that does it from then on.
const AROUND = [
  {
    title: "Break Discord ⚡",
    text: "Let the next message meet an error, a rate limit or a broken connection",
    run: (app) => openBreakMenu(app, byId("break")),
  },
  {
    title: "Look inside",
    text: "The inspector shows each stream, and why it became these messages",
    offered: (app) => app.hasInspector,
    run: (app) => app.inspector.show(true),
  },
  {
    title: "Connect a model",
    text: "Ollama, llama.cpp, LM Studio, OpenRouter, OpenAI or any address",
    offered: (app) => app.model.now,
    run: (app) => openConnect(app),
  },
];
export const BREAK = AROUND[0].title;
export const INSPECT = AROUND[1].title;
export const CONNECT = AROUND[2].title;

export class ThingsToTry {
  constructor(app) {
    this.app = app;
    this.seen = new Set(read());
    this.button = byId("things-to-try");
    clear(this.button, icon("spark", 20), el("span", { class: "head-words" }, "Things to try"));
    this.button.addEventListener("click", () => this.open());
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
    const around = AROUND.filter((one) => !one.offered || one.offered(this.app));
    const dialog = openDialog({
      title: "Things to try",
      className: "tries",
      content: [
        this.#count(around),
        ...[...groups].map(([name, prompts]) =>
          section(name, prompts.map((one) => this.#entry(one, words(one), () => this.say(one)))),
        ),
        section("On this page", around.map((one) => this.#entry(one, one.text, () => one.run(this.app)))),
      ],
    });
    this.dialog = dialog;
  }

  #count(around) {
    const all = [...this.app.prompts, ...around];
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
