// Who is here.

import { byId, clear, el } from "../dom.js";

export class Members {
  constructor(app) {
    this.app = app;
    for (const name of ["world", "channel", "bot"])
      app.store.addEventListener(name, () => this.draw());
  }

  draw() {
    const members = this.#present();
    if (!members) return;
    const bots = members.filter((member) => member.user.bot);
    const people = members.filter((member) => !member.user.bot);
    clear(byId("members"), this.#group("Online", people), this.#group("Apps", bots));
  }

  // In a direct message only the two who talk.
  #present() {
    const { store } = this.app;
    const members = store.guild?.members;
    const channel = store.channels.get(store.channelId);
    if (!members || !channel || channel.guild_id) return members;
    const talking = new Set([store.world.bot.id, ...channel.recipients.map((user) => user.id)]);
    return members.filter((member) => talking.has(member.user.id));
  }

  #group(title, members) {
    if (!members.length) return null;
    return el(
      "section",
      {},
      el("h3", {}, `${title} — ${members.length}`),
      el(
        "ul",
        {},
        members.map((member) => this.#member(member)),
      ),
    );
  }

  #member({ user }) {
    const { store, people } = this.app;
    const away = user.id === store.world.bot.id && !store.world.connected;
    const state = away ? "offline" : "online";
    const color = people.colorOf(user.id);
    return el(
      "li",
      { class: away ? "member away" : "member" },
      el(
        "span",
        { class: "member-face" },
        el("img", {
          class: "avatar",
          src: people.drawnFace(user, false),
          alt: "",
          width: 32,
          height: 32,
        }),
        el("i", { class: `presence ${state}`, role: "img", "aria-label": state }),
      ),
      el(
        "span",
        {
          class: color ? "member-name tinted" : "member-name",
          dir: "auto",
          style: color ? { "--name": color } : {},
        },
        people.nameOf(user),
      ),
      user.bot ? el("span", { class: "tag" }, "APP") : null,
    );
  }
}
