// What one can do with a message: a toolbar that follows the pointer and the focus, and its menu.

import { byId, el } from "../dom.js";
import { icon } from "../icons.js";
import { openMenu } from "../menu.js";
import { attempt, toast } from "../toast.js";
import { openDialog } from "./dialog.js";
import { pickEmoji } from "./emoji_picker.js";
import { preview } from "./message.js";
import { openNewThread } from "./new_thread.js";
import { react } from "./reactions.js";

const THREADED = new Set([0, 5]);
const ON_MESSAGE = 3;

export class Toolbar {
  constructor(app, log) {
    this.app = app;
    this.log = log;
    this.bar = el("div", { class: "toolbar", role: "toolbar", "aria-label": "Message actions" });
    this.messageId = null;
    const list = byId("log");
    list.addEventListener("pointerover", (event) => this.#follow(event.target));
    list.addEventListener("focusin", (event) => this.#follow(event.target));
    list.addEventListener("keydown", (event) => this.#key(event));
    list.addEventListener("contextmenu", (event) => this.#contextMenu(event));
    list.addEventListener("click", (event) => this.#touch(event));
  }

  #follow(target) {
    const view = target.closest?.(".message");
    if (!view || this.bar.parentElement === view) return;
    const message = this.#message(view.dataset.id);
    if (!message) return;
    this.messageId = message.id;
    this.bar.replaceChildren(...this.#buttons(message));
    view.append(this.bar);
    this.#place(view);
  }

  // It hangs down beside the message, and stands up where there is no room below.
  #place(view) {
    const end = byId("scroller").getBoundingClientRect().bottom;
    this.bar.classList.remove("upwards");
    this.bar.classList.toggle("upwards", this.bar.getBoundingClientRect().bottom > end);
  }

  // What an extension offers for a message may change while it is pointed at.
  refresh() {
    const message = this.bar.isConnected ? this.#message(this.messageId) : null;
    if (message && !this.bar.contains(document.activeElement))
      this.bar.replaceChildren(...this.#buttons(message));
  }

  // Without a pointer that hovers, a tap shows the toolbar.
  #touch(event) {
    if (matchMedia("(hover: none)").matches && !event.target.closest("a, button, [role=button]"))
      this.#follow(event.target);
  }

  #message(id) {
    return this.app.store.room(this.app.store.channelId)?.byId.get(id) ?? null;
  }

  #buttons(message) {
    const own = message.author.id === this.app.store.me;
    const hidden = Boolean(message.ephemeral_to);
    const button = (name, label, run) =>
      el(
        "button",
        {
          class: "icon-button",
          type: "button",
          title: label,
          "aria-label": label,
          on: { click: (event) => run(event.currentTarget) },
        },
        icon(name, 18),
      );
    return [
      hidden
        ? null
        : button("smile", "Add reaction", (opener) =>
            pickEmoji(this.app, opener, (emoji) => react(this.app, message, emoji)),
          ),
      hidden ? null : button("reply", "Reply", () => this.app.composer.replyTo(message)),
      own ? button("edit", "Edit", () => this.app.composer.edit(message)) : null,
      ...this.#added(message).map((one) => button(one.icon, one.label, () => one.run(message))),
      button("copy", "Copy text", () => copy(message.content)),
      button("more", "More", (opener) => this.#menu(message, opener)),
    ].filter(Boolean);
  }

  #menu(message, opener, at = null) {
    const { app } = this;
    const own = message.author.id === app.store.me;
    const hidden = Boolean(message.ephemeral_to);
    const commands = app.store.world.commands.filter((command) => command.type === ON_MESSAGE);
    const entries = [
      !hidden && { label: "Reply", icon: "reply", run: () => app.composer.replyTo(message) },
      own && { label: "Edit message", icon: "edit", run: () => app.composer.edit(message) },
      { label: "Copy text", icon: "copy", run: () => copy(message.content) },
      {
        label: "Copy message link",
        icon: "link",
        run: () =>
          copy(
            location.origin +
              app.people.pathOf(app.store.channels.get(message.channel_id), message.id),
          ),
      },
      this.#canHaveThread(message) && {
        label: "Start a thread",
        icon: "thread",
        run: () => openNewThread(app, app.store.channels.get(message.channel_id), message),
      },
      ...this.#added(message).map((one) => ({
        label: one.label,
        icon: one.icon,
        run: () => one.run(message),
      })),
      ...(commands.length && !hidden
        ? [
            null,
            ...commands.map((command) => ({
              label: command.name,
              hint: app.people.nameOf(app.store.world.bot),
              icon: "command",
              run: () => this.#choose(command, message),
            })),
          ]
        : []),
      ...(own
        ? [
            null,
            {
              label: "Delete message",
              icon: "trash",
              danger: true,
              run: () => this.#remove(message),
            },
          ]
        : []),
    ];
    openMenu(
      opener,
      entries.filter((entry) => entry !== false),
      { label: "Message", at },
    );
  }

  #added(message) {
    return this.app.messageActions.filter((one) => one.isOffered(message));
  }

  #canHaveThread(message) {
    const channel = this.app.store.channels.get(message.channel_id);
    return THREADED.has(channel?.type) && !message.thread && !message.ephemeral_to;
  }

  #choose(command, message) {
    const body = { entry: command.name, message: message.id, user: this.app.store.me };
    attempt(async () => this.app.answered(await this.app.api.post("choose", body)));
  }

  #remove(message) {
    openDialog({
      title: "Delete message",
      content: [
        el("p", {}, "This cannot be undone."),
        el("blockquote", { class: "doomed" }, preview(message, this.app.people)),
      ],
      submitLabel: "Delete",
      submit: () => this.app.api.post("delete", { message: message.id }),
    });
  }

  #contextMenu(event) {
    const view = event.target.closest(".message");
    if (!view || event.target.closest("a, img, pre") || getSelection().toString()) return;
    event.preventDefault();
    const point = {
      left: event.clientX,
      right: event.clientX,
      top: event.clientY,
      bottom: event.clientY,
    };
    this.#menu(this.#message(view.dataset.id), view, point);
  }

  #key(event) {
    const view = event.target;
    if (!view.classList?.contains("message") || event.ctrlKey || event.metaKey || event.altKey)
      return;
    const message = this.#message(view.dataset.id);
    const own = message?.author.id === this.app.store.me;
    const hidden = Boolean(message?.ephemeral_to);
    const key = event.key.length === 1 ? event.key.toLowerCase() : event.key;
    const actions = {
      ArrowUp: () => this.log.move(view, -1),
      ArrowDown: () => this.log.move(view, 1) || byId("composer-text").focus(),
      r: () => hidden || this.app.composer.replyTo(message),
      e: () => own && this.app.composer.edit(message),
      "+": () => hidden || pickEmoji(this.app, view, (emoji) => react(this.app, message, emoji)),
      c: () => copy(message.content),
      Delete: () => own && this.#remove(message),
      Enter: () => this.#menu(message, view),
      Escape: () => byId("composer-text").focus(),
    };
    if (!message) return;
    const added = this.#added(message).find((one) => one.key === key);
    const run = actions[key] ?? (added && (() => added.run(message)));
    if (!run) return;
    event.preventDefault();
    run();
  }
}

async function copy(text) {
  try {
    await navigator.clipboard.writeText(text);
    toast("Copied");
  } catch {
    toast("The browser does not let this page copy.", "error");
  }
}
