// Reactions under a message: press to join in or to take yours back.

import { el } from "../dom.js";
import { icon } from "../icons.js";
import { customEmoji, standardEmoji } from "../markdown/render.js";
import { attempt } from "../toast.js";
import { pickEmoji } from "./emoji_picker.js";

export function reactions(app, message) {
  const add = el(
    "button",
    {
      class: "reaction add",
      type: "button",
      "aria-label": "Add reaction",
      "aria-haspopup": "dialog",
    },
    icon("smile", 18),
  );
  add.addEventListener("click", () => pickEmoji(app, add, (emoji) => react(app, message, emoji)));
  return el(
    "div",
    { class: "reactions" },
    message.reactions.map((reaction) => one(app, message, reaction)),
    add,
  );
}

function one(app, message, reaction) {
  const { emoji, users } = reaction;
  const mine = users.includes(app.store.me);
  const names = users.map((id) => app.people.user(id)?.name ?? "somebody").join(", ");
  const shown = emoji.id
    ? customEmoji(emoji.name, emoji.id, app.people)
    : standardEmoji(emoji.name);
  const button = el(
    "button",
    {
      class: "reaction",
      type: "button",
      "aria-pressed": String(mine),
      title: names,
      "aria-label": `${emoji.name}, ${reaction.count}: ${names}`,
    },
    shown,
    el("span", {}, String(reaction.count)),
  );
  const action = mine ? "unreact" : "react";
  button.addEventListener("click", () =>
    attempt(() =>
      app.api.post(action, { message: message.id, emoji: emoji.name, user: app.store.me }),
    ),
  );
  return button;
}

// `emoji` is a character or the name of a custom one.
export function react(app, message, emoji) {
  return attempt(() => app.api.post("react", { message: message.id, emoji, user: app.store.me }));
}
