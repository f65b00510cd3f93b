// One message as an element: head or grouped, reply line, text, attachments, embeds, buttons, reactions.

import { counted, el } from "../dom.js";
import { icon } from "../icons.js";
import { parse, plain } from "../markdown/parse.js";
import { renderInline, renderMarkdown } from "../markdown/render.js";
import { clock, dayName, fullTime, headTime, sameDay } from "../times.js";
import { attachments } from "./attachments.js";
import { components } from "./components.js";
import { embeds } from "./embeds.js";
import { reactions } from "./reactions.js";

const GROUP_MS = 7 * 60_000;
const COMMAND = 20;
const JOINED = 7;
const SYSTEM = new Set([JOINED, 18, 21]);
const LOADING = 1 << 7;
const V2 = 1 << 15;
const PREVIEW_MOST = 160;

export function isGrouped(message, before) {
  if (
    !before ||
    message.message_reference ||
    message.type === COMMAND ||
    message.ephemeral_to !== before.ephemeral_to
  )
    return false;
  const close = new Date(message.timestamp) - new Date(before.timestamp) < GROUP_MS;
  const same =
    message.author.id === before.author.id && message.author.username === before.author.username;
  return same && close && sameDay(message.timestamp, before.timestamp) && !SYSTEM.has(before.type);
}

export function messageView(app, message, before) {
  const { people, store } = app;
  const name = app.nameOf(message);
  const grouped = isGrouped(message, before);
  const mine = message.mention_everyone || message.mentions.some((user) => user.id === store.me);
  const classes = [
    "message",
    grouped && "grouped",
    mine && "mentioned",
    message.ephemeral_to && "ephemeral",
  ];
  const article = el("article", {
    class: classes.filter(Boolean).join(" "),
    id: `message-${message.id}`,
    tabindex: "-1",
    "aria-label": `${name}, ${headTime(message.timestamp)}`,
    data: { id: message.id },
  });
  if (!before || !sameDay(message.timestamp, before.timestamp)) {
    article.append(
      el("div", { class: "day", role: "separator" }, el("span", {}, dayName(message.timestamp))),
    );
  }
  article.append(
    ...[
      originLine(app, message),
      grouped ? sideTime(message) : head(app, message, name),
      ...body(app, message, people),
    ]
      .flat()
      .filter(Boolean),
  );
  return article;
}

function head(app, message, name) {
  const color = app.people.colorOf(message.author.id);
  const author = el(
    "span",
    {
      class: color ? "author tinted" : "author",
      dir: "auto",
      style: color ? { "--name": color } : {},
    },
    name,
  );
  const tag = message.author.bot ? el("span", { class: "tag" }, "APP") : null;
  const time = el(
    "time",
    { datetime: message.timestamp, title: fullTime(message.timestamp) },
    headTime(message.timestamp),
  );
  return [face(app, message, 40), el("header", {}, author, tag, time)];
}

export function face(app, message, size) {
  const fromWebhook = app.people.isWebhook(message);
  const picture = el("img", {
    class: "avatar",
    src: app.people.faceOf(message.author, fromWebhook),
    alt: "",
    width: size,
    height: size,
    loading: "lazy",
    referrerpolicy: "no-referrer",
  });
  picture.addEventListener(
    "error",
    () => (picture.src = app.people.drawnFace(message.author, true)),
    { once: true },
  );
  return picture;
}

function sideTime(message) {
  return el(
    "time",
    { class: "side-time", datetime: message.timestamp, title: fullTime(message.timestamp) },
    clock(message.timestamp),
  );
}

// What it answers: a message, or a command.
function originLine(app, message) {
  if (message.message_reference) return replyLine(app, message);
  if (message.type !== COMMAND || !message.interaction_metadata) return null;
  const user = message.interaction_metadata.user;
  const sign = message.from_menu ? "" : "/";
  const said = message.command
    ? [" used ", el("span", { class: "command-name" }, `${sign}${message.command}`)]
    : " used a command";
  return el(
    "div",
    { class: "reply-line" },
    el("img", {
      class: "avatar",
      src: `/cdn/avatars/${user.id}.svg`,
      alt: "",
      width: 16,
      height: 16,
    }),
    el("span", { class: "reply-author" }, app.people.nameOf(user)),
    said,
  );
}

function replyLine(app, message) {
  const replied = message.referenced_message;
  if (!replied)
    return el(
      "div",
      { class: "reply-line gone" },
      icon("reply", 14),
      el("i", {}, "Original message was deleted"),
    );
  const jump = el(
    "button",
    {
      class: "reply-text",
      type: "button",
      dir: "auto",
      on: { click: () => app.jumpTo(replied.id) },
    },
    preview(replied, app.people),
  );
  return el(
    "div",
    { class: "reply-line" },
    face(app, replied, 16),
    el(
      "span",
      { class: "reply-author" },
      `${message.mentions.some((u) => u.id === replied.author.id) ? "@" : ""}${app.nameOf(replied)}`,
    ),
    jump,
  );
}

export function preview(message, people) {
  const line = message.content.split("\n").find((part) => part.trim()) ?? "";
  if (line)
    return line.length > PREVIEW_MOST
      ? plain(parse(line)).slice(0, PREVIEW_MOST)
      : renderInline(line.replace(/^(?:#{1,3}|-#|>) +/, ""), people);
  return el(
    "i",
    {},
    message.attachments.length ? "Press to see attachment" : "Press to see message",
  );
}

function body(app, message, people) {
  const parts = [];
  if (message.flags & LOADING) parts.push(thinking(app.nameOf(message)));
  else if (message.type === JOINED) parts.push(el("div", { class: "content system" }, "joined the server."));
  else if (message.content) parts.push(content(message, people));
  if (message.attachments.length) parts.push(attachments(app, message.attachments));
  if (message.embeds.length) parts.push(embeds(app, message.embeds));
  if (message.components.length) parts.push(components(app, message, Boolean(message.flags & V2)));
  if (message.thread) parts.push(threadLink(app, message.thread));
  if (message.reactions.length) parts.push(reactions(app, message));
  if (message.ephemeral_to) parts.push(onlyYou(app, message));
  return parts;
}

function content(message, people) {
  const text = renderMarkdown(message.content, people);
  if (message.edited_timestamp) {
    text.append(
      " ",
      el(
        "time",
        {
          class: "edited",
          datetime: message.edited_timestamp,
          title: fullTime(message.edited_timestamp),
        },
        "(edited)",
      ),
    );
  }
  return el("div", { class: "content" }, text);
}

function thinking(name) {
  return el(
    "div",
    { class: "content thinking" },
    el("span", { class: "dots", "aria-hidden": "true" }, el("i"), el("i"), el("i")),
    ` ${name} is thinking…`,
  );
}

function threadLink(app, thread) {
  const path = app.people.pathOf(thread);
  return el(
    "a",
    { class: "thread-link", href: path, data: { inside: "" } },
    icon("thread", 16),
    el("b", {}, thread.name),
    ` ${counted(thread.message_count, "message")} ›`,
  );
}

function onlyYou(app, message) {
  const dismiss = el(
    "button",
    { class: "linklike", type: "button", on: { click: () => app.dismiss(message) } },
    "Dismiss message",
  );
  return el("div", { class: "only-you" }, icon("people", 14), "Only you can see this · ", dismiss);
}
