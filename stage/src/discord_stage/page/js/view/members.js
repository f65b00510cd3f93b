// Who is here.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { memberEntries, openJoin, openMemberMenu } from "./member_menu.js";

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
    clear(
      byId("members"),
      this.#group("Online", people, this.#isInGuild() ? this.#joinButton() : null),
      this.#group("Apps", bots),
    );
  }

  #isInGuild() {
    const { store } = this.app;
    return Boolean(store.channels.get(store.channelId)?.guild_id);
  }

  #joinButton() {
    return el(
      "button",
      {
        class: "icon-button",
        type: "button",
        title: "Somebody joins",
        "aria-label": "Somebody joins",
        on: { click: () => openJoin(this.app) },
      },
      icon("plus", 16),
    );
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

  #group(title, members, button = null) {
    if (!members.length) return null;
    return el(
      "section",
      {},
      el("header", {}, el("h3", {}, `${title} — ${members.length}`), button),
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
    const hasMenu = memberEntries(this.app, user).length > 0;
    return el(
      "li",
      {
        class: away ? "member away" : "member",
        on: hasMenu ? { contextmenu: (event) => this.#contextMenu(event, user) } : {},
      },
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
      hasMenu ? this.#menuButton(user) : null,
    );
  }

  #menuButton(user) {
    const label = `Actions for ${this.app.people.nameOf(user)}`;
    return el(
      "button",
      {
        class: "icon-button member-more",
        type: "button",
        title: label,
        "aria-label": label,
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        on: { click: (event) => openMemberMenu(this.app, user, event.currentTarget) },
      },
      icon("more", 18),
    );
  }

  #contextMenu(event, user) {
    event.preventDefault();
    const { clientX, clientY } = event;
    const point = { left: clientX, right: clientX, top: clientY, bottom: clientY };
    openMemberMenu(this.app, user, event.currentTarget.querySelector(".member-more"), point);
  }
}
