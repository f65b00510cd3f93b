// Servers, their channels and threads, direct messages, and who you are.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { openMenu } from "../menu.js";
import { attempt } from "../toast.js";
import { openNewThread } from "./new_thread.js";

const TEXT = 0;
const VOICE = 2;
const CATEGORY = 4;
const NEWS = 5;
const FORUM = 15;

export class Sidebar {
  constructor(app) {
    this.app = app;
    for (const name of ["world", "channel", "unread", "bot"])
      app.store.addEventListener(name, () => this.draw());
  }

  draw() {
    if (!this.app.store.world) return;
    clear(byId("rail"), this.#rail());
    const guild = this.app.store.guild;
    const direct = this.#current && !this.#current.guild_id;
    byId("guild-name").textContent = direct ? "Direct Messages" : guild.name;
    clear(byId("channels"), direct ? this.#directs() : this.#guildChannels(guild));
    clear(byId("me"), this.#me());
  }

  get #current() {
    return this.app.store.channels.get(this.app.store.channelId);
  }

  #rail() {
    const { store } = this.app;
    const direct = this.#current && !this.#current.guild_id;
    const home = el(
      "button",
      {
        class: direct ? "rail-item home on" : "rail-item home",
        type: "button",
        title: "Direct messages",
        "aria-label": "Direct messages",
        "aria-current": direct ? "true" : null,
        on: { click: () => this.#openDirect() },
      },
      icon("thread", 26),
    );
    const guilds = store.world.guilds.map((guild) => {
      const on = !direct && guild === store.guild;
      const first = guild.channels.find((channel) => channel.type === TEXT);
      return el(
        "a",
        {
          class: on ? "rail-item on" : "rail-item",
          href: first ? this.app.people.pathOf(first) : "/",
          data: { inside: "" },
          title: guild.name,
          "aria-label": guild.name,
          "aria-current": on ? "true" : null,
        },
        initials(guild.name),
      );
    });
    return [home, el("span", { class: "rail-line", role: "presentation" }), ...guilds];
  }

  async #openDirect() {
    const { api, store } = this.app;
    const channel = await attempt(() => api.post("open_dm", { user: store.me }));
    if (!channel) return;
    store.channels.set(channel.id, channel);
    this.app.go(this.app.people.pathOf(channel));
  }

  #directs() {
    const { store, people } = this.app;
    const own = [...store.channels.values()].filter(
      (channel) => !channel.guild_id && channel.recipients?.[0]?.id === store.me,
    );
    const face = el("img", {
      class: "avatar",
      src: `/cdn/avatars/${store.world.bot.id}.svg`,
      alt: "",
      width: 32,
      height: 32,
    });
    return el(
      "ul",
      {},
      own.map((channel) => el("li", {}, this.#link(channel, face, people.titleOf(channel)))),
    );
  }

  #guildChannels(guild) {
    const order = (a, b) => a.position - b.position;
    const under = (parent) =>
      guild.channels
        .filter((channel) => channel.type !== CATEGORY && (channel.parent_id ?? null) === parent)
        .sort(order);
    const categories = guild.channels.filter((channel) => channel.type === CATEGORY).sort(order);
    const parts = [this.#group(guild, under(null))];
    for (const category of categories)
      parts.push(
        el("h3", { class: "category" }, category.name),
        this.#group(guild, under(category.id)),
      );
    return parts;
  }

  #group(guild, channels) {
    return el(
      "ul",
      {},
      channels.map((channel) => {
        const threads = guild.threads.filter((thread) => thread.parent_id === channel.id);
        const nested = threads.length
          ? el(
              "ul",
              { class: "threads" },
              threads.map((thread) =>
                el("li", {}, this.#link(thread, icon("thread", 16), thread.name)),
              ),
            )
          : null;
        return el("li", {}, this.#channel(channel), nested);
      }),
    );
  }

  #channel(channel) {
    const sign = channel.type === FORUM ? "forum" : channel.type === VOICE ? "voice" : "hash";
    if (channel.type === TEXT || channel.type === NEWS)
      return this.#link(channel, icon(sign, 20), channel.name);
    const name = el("span", { class: "channel-name" }, channel.name);
    if (channel.type !== FORUM) return el("span", { class: "channel still" }, icon(sign, 20), name);
    return el(
      "button",
      {
        class: "channel forum",
        type: "button",
        title: "New post",
        "aria-label": `New post in ${channel.name}`,
        on: { click: () => openNewThread(this.app, channel) },
      },
      icon(sign, 20),
      name,
      icon("plus", 16),
    );
  }

  #link(channel, sign, name) {
    const { store, people } = this.app;
    const on = channel.id === store.channelId;
    const pings = store.unread.get(channel.id);
    const classes = ["channel", on && "on", pings !== undefined && "unread"]
      .filter(Boolean)
      .join(" ");
    const badge = pings
      ? el("span", { class: "badge" }, String(pings), el("span", { class: "sr" }, " mentions"))
      : null;
    const quiet = pings === 0 ? el("span", { class: "sr" }, " (unread)") : null;
    return el(
      "a",
      {
        class: classes,
        href: people.pathOf(channel),
        data: { inside: "" },
        "aria-current": on ? "page" : null,
      },
      sign,
      el("span", { class: "channel-name", dir: "auto" }, name, quiet),
      badge,
    );
  }

  #me() {
    const { store, people } = this.app;
    const user = store.users.get(store.me);
    const who = el(
      "button",
      {
        class: "who",
        type: "button",
        "aria-haspopup": "menu",
        "aria-expanded": "false",
        title: "Act as somebody else",
      },
      el("img", {
        class: "avatar",
        src: people.drawnFace(user, false),
        alt: "",
        width: 32,
        height: 32,
      }),
      el("span", {}, el("b", { dir: "auto" }, people.nameOf(user)), el("small", {}, "This is you")),
    );
    who.addEventListener("click", () => this.#whoMenu(who));
    const settings = el(
      "button",
      {
        class: "icon-button",
        type: "button",
        title: "Settings",
        "aria-label": "Settings",
        on: { click: () => this.app.openSettings() },
      },
      icon("settings"),
    );
    return [who, settings];
  }

  #whoMenu(opener) {
    const { store, people } = this.app;
    const others = [...store.users.values()].filter((user) => !user.bot && user.id !== store.me);
    const entries = others.map((user) => ({
      label: `Be ${people.nameOf(user)}`,
      icon: "people",
      run: () => this.app.become(user.id),
    }));
    openMenu(
      opener,
      entries.length ? entries : [{ label: "There is nobody else here", run: () => {} }],
      { label: "Who you are" },
    );
  }
}

function initials(name) {
  return name
    .split(/\s+/)
    .map((word) => [...word][0] ?? "")
    .join("")
    .slice(0, 3);
}
