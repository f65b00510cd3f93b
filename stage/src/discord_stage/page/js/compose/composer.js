// The box in which one writes: sends, replies, edits, offers commands and completions.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { sorted } from "../store.js";
import { toast } from "../toast.js";
import { pickEmoji } from "../view/emoji_picker.js";
import { preview } from "../view/message.js";
import { CommandForm } from "./command_form.js";
import { matchingCommands, runCommand } from "./commands.js";
import { completionAt } from "./completion.js";
import { readLine } from "./line.js";
import { Suggestions } from "./suggestions.js";
import { encoded, forget, Uploads } from "./uploads.js";
import { showUsage } from "./usage.js";
import { editable, outgoing } from "./words.js";

const LONGEST = 2000;
const TYPING_EVERY_MS = 8000;

export class Composer {
  constructor(app) {
    this.app = app;
    this.text = byId("composer-text");
    this.bar = byId("context-bar");
    this.count = byId("count");
    this.suggestions = new Suggestions();
    this.form = new CommandForm(app, this.suggestions, () => this.#backToText());
    this.uploads = new Uploads(app.drops);
    this.drafts = new Map();
    this.target = null;
    this.typedAt = 0;
    this.#listen();
  }

  #listen() {
    this.text.addEventListener("input", () => this.#typed());
    this.text.addEventListener("keydown", (event) => this.#key(event));
    this.text.addEventListener("blur", () => this.suggestions.hide());
    byId("composer").addEventListener("submit", (event) => {
      event.preventDefault();
      if (this.form.open) this.form.submit(event);
      else this.#send();
    });
    const emoji = byId("emoji");
    emoji.append(icon("smile", 22));
    emoji.addEventListener("click", () =>
      pickEmoji(this.app, emoji, (_emoji, written) => this.insert(`${written} `)),
    );
    byId("send").append(icon("send", 20));
  }

  // Another channel: its own draft.
  enter(channelId, name, prefix = "#") {
    this.form.close();
    this.#setTarget(null);
    if (this.channelId) this.drafts.set(this.channelId, this.text.value);
    this.channelId = channelId;
    this.text.hidden = false;
    this.#fill(this.drafts.get(channelId) ?? "");
    this.text.placeholder = `Message ${prefix}${name}`;
    this.text.setAttribute("aria-label", `Message ${prefix}${name}`);
  }

  insert(written) {
    this.text.setRangeText(written, this.text.selectionStart, this.text.selectionEnd, "end");
    this.text.focus();
    this.#grow();
  }

  // A text that can be sent as it is, unless something is written already.
  suggest(text) {
    if (!this.text.value) this.#fill(text);
    this.text.focus();
  }

  startCommand(line) {
    const found = matchingCommands(this.app, `/${line}`).find(({ value }) => value.line === line);
    if (found) this.#showCommand(found.value);
  }

  replyTo(message) {
    this.#setTarget({ kind: "reply", message });
    this.text.focus();
  }

  edit(message) {
    this.#setTarget({ kind: "edit", message });
    this.#fill(editable(message.content, this.app.people));
    this.text.focus();
  }

  #setTarget(target) {
    const wasEdit = this.target?.kind === "edit";
    this.target = target;
    this.bar.hidden = !target;
    if (wasEdit && target?.kind !== "edit") this.#fill("");
    if (!target) return;
    const cancel = el(
      "button",
      {
        class: "icon-button",
        type: "button",
        "aria-label": "Cancel",
        on: { click: () => this.#setTarget(null) },
      },
      icon("close", 16),
    );
    const what =
      target.kind === "edit"
        ? "Editing your message"
        : ["Replying to ", el("b", { dir: "auto" }, this.app.nameOf(target.message))];
    clear(
      this.bar,
      el("span", {}, what),
      el(
        "span",
        { class: "bar-preview", dir: "auto" },
        target.kind === "reply" ? preview(target.message, this.app.people) : "",
      ),
      cancel,
    );
  }

  #fill(text) {
    this.text.value = text;
    this.#grow();
  }

  #grow() {
    showUsage(this.app, this.text.value);
    this.text.style.height = "auto";
    this.text.style.height = `${this.text.scrollHeight}px`;
    const left = LONGEST - [...this.text.value].length;
    this.count.textContent = left < 200 ? String(left) : "";
    this.count.classList.toggle("over", left < 0);
  }

  #typed() {
    this.#grow();
    this.#suggest();
    const now = Date.now();
    if (!this.text.value || this.text.value.startsWith("/") || now - this.typedAt < TYPING_EVERY_MS)
      return;
    this.typedAt = now;
    this.app.api
      .post("type", { channel: this.app.store.channelId, user: this.app.store.me })
      .catch(() => {});
  }

  #suggest() {
    this.suggestions.hide();
    const { value, selectionStart: caret } = this.text;
    const commands = matchingCommands(this.app, value);
    if (commands.length) {
      this.suggestions.show(this.text, "Commands", commands, (command) =>
        this.#showCommand(command),
      );
      return;
    }
    const found = completionAt(this.app, value, caret);
    if (found)
      this.suggestions.show(this.text, found.title, found.items, (written) =>
        this.#complete(found.from, caret, written),
      );
  }

  #complete(from, to, written) {
    this.text.setRangeText(written, from, to, "end");
    this.#grow();
  }

  #showCommand(command) {
    this.#fill("");
    this.#setTarget(null);
    this.text.hidden = true;
    this.form.show(command);
  }

  #backToText() {
    this.text.hidden = false;
    this.text.focus();
  }

  #key(event) {
    if (this.#isWhole(event)) this.suggestions.hide();
    if (this.suggestions.key(event) || event.isComposing) return;
    if (event.key === "Enter" && !event.shiftKey && !this.#insideFence()) {
      event.preventDefault();
      this.#send();
    } else if (event.key === "ArrowUp" && !this.text.value) this.#editLast(event);
    else if (event.key === "Escape" && this.target) this.#setTarget(null);
    else if (event.key === "Escape") this.app.log.toEnd();
  }

  // A command that is written out and needs nothing more is run, not picked.
  #isWhole(event) {
    const command = this.suggestions.chosen;
    const whole = command?.line && this.text.value.trim() === `/${command.line}`;
    return event.key === "Enter" && whole && !command.options.some((option) => option.required);
  }

  // In an open code block Enter is a new line, as in Discord.
  #insideFence() {
    return this.text.value.slice(0, this.text.selectionStart).split("```").length % 2 === 0;
  }

  #editLast(event) {
    const { store } = this.app;
    const room = store.room(store.channelId);
    const last = room && sorted(room).findLast((message) => message.author.id === store.me);
    if (!last) return;
    event.preventDefault();
    this.edit(last);
  }

  #send() {
    const text = this.text.value.trim();
    const edits = this.target?.kind === "edit";
    if (!text && (edits || !this.uploads.files.length)) return;
    const line = edits ? null : readLine(this.app, text);
    if (line instanceof Error) toast(line.message, "error");
    else if (line) this.#run(line, text);
    else this.#hand(text, edits);
  }

  // The box is free again at once; what cannot be run comes back.
  async #run({ command, values }, text) {
    this.#empty();
    const begun = await runCommand(this.app, command, values);
    if (begun) this.app.answered(begun);
    else this.#putBack(text);
  }

  #hand(text, edits) {
    const content = outgoing(text, this.app.people);
    const over = [...content].length - LONGEST;
    if (over > 0) {
      toast(`A message has at most ${LONGEST} characters: ${over} too many.`, "error");
      return;
    }
    const { channelId, target } = this;
    const files = edits ? [] : this.uploads.take();
    this.app.outbox.add({
      channelId,
      content,
      send: edits ? this.#edited(target, content) : this.#posted(channelId, content, target, files),
      forget: () => forget(files),
      takeBack: () => {
        this.uploads.putBack(files);
        this.#setTarget(target);
        this.#putBack(text);
      },
    });
    this.#empty();
  }

  #edited(target, content) {
    return () => this.app.api.post("edit", { message: target.message.id, content });
  }

  #posted(channel, content, target, files) {
    const { api, store } = this.app;
    // A second try after an answer that was lost must not write it twice.
    const body = { channel, user: store.me, content, nonce: crypto.randomUUID().slice(0, 23) };
    if (target) body.reply_to = target.message.id;
    return async () => api.post("post", { ...body, files: await encoded(files) });
  }

  #empty() {
    this.suggestions.hide();
    this.#fill("");
    this.#setTarget(null);
    this.typedAt = 0;
  }

  #putBack(text) {
    this.#fill([text, this.text.value].filter(Boolean).join("\n"));
    this.text.focus();
  }
}
