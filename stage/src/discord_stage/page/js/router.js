// The address says the channel, and maybe the message: /channels/{server or @me}/{channel}/{message}.

import { toast } from "./toast.js";

const PLACE = /^\/channels\/(?:\d+|@me)\/(\d+)(?:\/(\d+))?\/?$/;
const TEXT = 0;

export class Router {
  constructor(app) {
    this.app = app;
    document.addEventListener("click", (event) => this.#clicked(event));
    addEventListener("popstate", () => this.#open(location.pathname));
    app.store.addEventListener("world", () => this.#stillThere());
  }

  start() {
    return this.#open(location.pathname);
  }

  go(path) {
    if (path !== location.pathname) history.pushState(null, "", path);
    return this.#open(path);
  }

  #clicked(event) {
    const link = event.target.closest?.("a[data-inside]");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey || event.button) return;
    event.preventDefault();
    this.go(new URL(link.href).pathname);
  }

  #stillThere() {
    const { store } = this.app;
    if (!store.channelId || store.channels.has(store.channelId)) return;
    toast("This channel is gone.");
    this.go("/");
  }

  #default() {
    for (const guild of this.app.store.world.guilds) {
      const texts = guild.channels.filter((channel) => channel.type === TEXT);
      texts.sort((a, b) => a.position - b.position);
      if (texts.length) return texts[0];
    }
    return null;
  }

  async #open(path) {
    const { store, people } = this.app;
    const [, wanted, messageId] = PLACE.exec(path) ?? [];
    const channel = store.channels.get(wanted) ?? this.#default();
    if (!channel) return;
    if (channel.id !== wanted) history.replaceState(null, "", people.pathOf(channel));
    await this.#enter(channel);
    if (messageId && channel.id === wanted) await this.app.jumpTo(messageId);
  }

  async #enter(channel) {
    const { store, people, composer, log } = this.app;
    if (store.channelId === channel.id && store.room(channel.id)) return;
    store.channelId = channel.id;
    store.tell("channel");
    composer.enter(channel.id, people.titleOf(channel), channel.guild_id ? "#" : "@");
    if (!store.room(channel.id)) await store.loadRoom(channel.id);
    if (store.channelId !== channel.id) return;
    log.show();
    store.markRead(channel.id);
  }
}
