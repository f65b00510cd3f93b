// The frame around the chat: head line, drawers on a phone, banner, keys that work everywhere.

import { byId, clear, el } from "./dom.js";
import { icon } from "./icons.js";
import { chooseTheme, isLight } from "./theme.js";
import { openBreakMenu } from "./view/breaking.js";

const NARROW = matchMedia("(max-width: 760px)");
const NO_ROOM_FOR_MEMBERS = matchMedia("(max-width: 1100px)");
const NO_ROOM_BESIDE_PANEL = matchMedia("(max-width: 1700px)");

export class Shell {
  constructor(app) {
    this.app = app;
    this.#buttons();
    this.#fitMembers();
    for (const room of [NO_ROOM_FOR_MEMBERS, NO_ROOM_BESIDE_PANEL])
      room.addEventListener("change", () => this.#fitMembers());
    app.bus.addEventListener("panel", () => this.#fitMembers());
    byId("shade").addEventListener("click", () => this.closeDrawers());
    document.addEventListener("keydown", (event) => this.#key(event));
    for (const name of ["channel", "world", "bot"])
      app.store.addEventListener(name, () => this.head());
    app.store.addEventListener("channel", () => this.closeDrawers());
  }

  #buttons() {
    const wire = (id, sign, run) => {
      const button = byId(id);
      button.append(icon(sign, 22));
      button.addEventListener("click", () => run(button));
    };
    wire("toggle-places", "menu", () => this.#drawer("places"));
    wire("break", "bolt", (button) => openBreakMenu(this.app, button));
    wire("toggle-theme", isLight() ? "moon" : "sun", (button) => {
      chooseTheme(isLight() ? "dark" : "light");
      clear(button, icon(isLight() ? "moon" : "sun", 22));
    });
    wire("toggle-members", "people", () =>
      NARROW.matches ? this.#drawer("members") : this.#toggleMembers(),
    );
  }

  #fitMembers() {
    const room = this.app.panels.open ? NO_ROOM_BESIDE_PANEL : NO_ROOM_FOR_MEMBERS;
    document.body.dataset.members = room.matches ? "closed" : "open";
    this.#membersState();
  }

  #toggleMembers() {
    const { dataset } = document.body;
    dataset.members = dataset.members === "open" ? "closed" : "open";
    this.#membersState();
  }

  #membersState() {
    byId("toggle-members").setAttribute(
      "aria-pressed",
      String(document.body.dataset.members === "open"),
    );
  }

  #drawer(name) {
    const open = document.body.dataset.drawer !== name;
    this.closeDrawers();
    if (!open) return;
    document.body.dataset.drawer = name;
    byId("shade").hidden = false;
    byId("toggle-places").setAttribute("aria-expanded", String(name === "places"));
    byId(name).querySelector("a[aria-current=page], a, button")?.focus();
  }

  closeDrawers() {
    delete document.body.dataset.drawer;
    byId("shade").hidden = true;
    byId("toggle-places").setAttribute("aria-expanded", "false");
  }

  head() {
    const { store, people } = this.app;
    const channel = store.channels.get(store.channelId);
    if (!channel) return;
    const name = people.titleOf(channel);
    const sign = channel.guild_id ? (channel.thread_metadata ? "thread" : "hash") : "at";
    clear(byId("channel-title"), icon(sign, 22), el("span", { dir: "auto" }, name));
    byId("topic").textContent = channel.topic ?? "";
    const bot = people.nameOf(store.world.bot);
    document.title = `${channel.guild_id ? "#" : "@"}${name} · ${bot}`;
    byId("bot-state").textContent = store.world.connected ? "" : `${bot} is offline`;
  }

  disconnected() {
    const again = el(
      "button",
      { type: "button", class: "linklike", on: { click: () => this.app.feed.retry() } },
      "Try now",
    );
    clear(byId("banner"), el("span", {}, "The stage does not answer. Trying again… "), again);
    byId("banner").hidden = false;
  }

  connected() {
    byId("banner").hidden = true;
  }

  #key(event) {
    if (event.key === "Escape" && document.body.dataset.drawer) this.closeDrawers();
    const step = { ArrowUp: -1, ArrowDown: 1 }[event.key];
    if (!event.altKey || !step || document.querySelector("dialog[open]")) return;
    const links = [...document.querySelectorAll("#channels a.channel")];
    const at = links.findIndex((link) => link.classList.contains("on"));
    const next = links[(at + step + links.length) % links.length];
    if (!next) return;
    event.preventDefault();
    this.app.go(new URL(next.href).pathname);
    byId("composer-text").focus();
  }
}
