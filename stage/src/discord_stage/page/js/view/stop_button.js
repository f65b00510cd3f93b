// The button that stops the bot: visible while it answers in this channel.

import { byId, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt, toast } from "../toast.js";

// Between two messages of one answer the bot does not type for a moment: no flicker.
const GRACE_MS = 1500;

export class StopButton {
  constructor(app) {
    this.app = app;
    this.button = byId("stop");
    this.button.append(icon("stop", 16), el("span", {}, "Stop"));
    this.button.addEventListener("click", () => this.#stopBot());
    this.timer = 0;
    this.answering = new Set();
    this.news = new Map();
    for (const name of ["typing", "channel", "world", "reloaded"])
      app.store.addEventListener(name, () => this.draw());
    app.store.addEventListener("reloaded", () => this.#load());
    app.bus.addEventListener("ANSWERING", (event) => this.#answers(event.detail));
  }

  // Whoever runs the bot may say exactly when it is at work.
  get #exact() {
    return this.app.store.extensions.has("answering");
  }

  // What was known before a gap is old; what is heard meanwhile is newer than the answer.
  async #load() {
    this.answering.clear();
    const news = (this.news = new Map());
    if (!this.#exact) return;
    const active = await attempt(() => this.app.api.get("answering"));
    if (news !== this.news) return;
    for (const channelId of active ?? []) {
      if (!news.has(channelId)) this.answering.add(channelId);
    }
    this.draw();
  }

  #answers({ channel_id: channelId, active }) {
    this.news.set(channelId, active);
    if (active) this.answering.add(channelId);
    else this.answering.delete(channelId);
    this.draw();
  }

  get #command() {
    return this.app.store.world?.commands.find(
      (command) => command.name === "stop" && command.type === 1,
    );
  }

  draw() {
    const { store } = this.app;
    const { button } = this;
    const types = store.typists(store.channelId).includes(store.world?.bot.id);
    clearTimeout(this.timer);
    if (this.#exact) button.hidden = !this.answering.has(store.channelId);
    else if (types) button.hidden = !this.#command;
    else this.timer = setTimeout(() => (button.hidden = true), button.hidden ? 0 : GRACE_MS);
  }

  #stopBot() {
    const { api, store } = this.app;
    attempt(async () => {
      const answer = await this.app.interactions.outcome(
        await api.post("run", { command: "stop", channel: store.channelId, user: store.me }),
      );
      if (!answer) toast("The bot did not answer.", "error");
    });
  }
}
