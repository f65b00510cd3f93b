// What was written and is on its way: sent in order, one after another. What fails stays in sight.

import { byId, clear, el } from "../dom.js";
import { sorted } from "../store.js";
import { messageView } from "../view/message.js";

const SLOW_MS = 400;

export class Outbox {
  constructor(app) {
    this.app = app;
    this.box = byId("outbox");
    this.items = [];
    this.sending = false;
    this.last = 0;
    app.store.addEventListener("channel", () => this.#draw());
    app.store.addEventListener("message", (event) => this.#heard(event.detail));
  }

  // item: {channelId, content, send, takeBack, forget}. `send` may fail, and be called again.
  add(item) {
    this.items.push(item);
    item.key = `unsent-${++this.last}`;
    item.begun = new Date();
    // Whoever writes later, or after a reconnect, did not write this.
    item.author = this.app.store.me;
    this.#begin(item);
  }

  #begin(item) {
    item.state = "waiting";
    // Most are there before anybody could read that they are not.
    setTimeout(() => this.#slow(item), SLOW_MS);
    this.#sendAll();
  }

  #slow(item) {
    if (item.state !== "waiting") return;
    item.state = "slow";
    this.#draw();
  }

  async #sendAll() {
    if (this.sending) return;
    this.sending = true;
    try {
      for (let item = this.#next(); item; item = this.#next()) await this.#send(item);
    } finally {
      this.sending = false;
    }
  }

  #next() {
    return this.items.find((item) => item.state !== "failed");
  }

  async #send(item) {
    try {
      await item.send();
      this.#remove(item);
      item.forget();
    } catch (error) {
      item.state = "failed";
      item.reason = error.message;
      this.#draw();
      if (error.status === undefined) throw error;
    }
  }

  #remove(item) {
    this.items = this.items.filter((other) => other !== item);
    item.state = "gone";
    this.#draw();
  }

  // The feed can be faster than the answer to the one who sent it.
  #heard({ message, created }) {
    const first = this.#next();
    const own = created && message.author.id === first?.author;
    if (!own || first.content !== message.content) return;
    first.state = "heard";
    this.#draw();
  }

  #draw() {
    const { store } = this.app;
    const shown = this.items.filter(
      ({ channelId, state }) =>
        channelId === store.channelId && (state === "slow" || state === "failed"),
    );
    const room = store.room(store.channelId);
    const before = room && sorted(room).at(-1);
    clear(
      this.box,
      shown.map((item) => this.#view(item, before)),
    );
    this.box.hidden = !shown.length;
  }

  #view(item, before) {
    const { store } = this.app;
    const written = {
      id: item.key,
      type: 0,
      flags: 0,
      author: store.users.get(item.author),
      content: item.content,
      timestamp: item.begun.toISOString(),
      ephemeral_to: null,
      mentions: [],
      attachments: [],
      embeds: [],
      components: [],
      reactions: [],
    };
    const view = messageView(this.app, written, before);
    view.classList.add("unsent", item.state);
    view.querySelector(".day")?.remove();
    if (item.state === "failed") view.append(this.#failure(item));
    return view;
  }

  #failure(item) {
    const button = (label, run) =>
      el("button", { class: "linklike", type: "button", on: { click: run } }, label);
    return el(
      "div",
      { class: "failure", role: "alert" },
      el("span", {}, `Not sent: ${item.reason}`),
      button("Retry", () => this.#retry(item)),
      button("Edit", () => {
        this.#remove(item);
        item.takeBack();
      }),
      button("Delete", () => {
        this.#remove(item);
        item.forget();
      }),
    );
  }

  #retry(item) {
    this.#begin(item);
    this.#draw();
    byId("composer-text").focus();
  }
}
