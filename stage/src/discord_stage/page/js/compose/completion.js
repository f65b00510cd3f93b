// What to suggest for the word before the caret: people, channels, emoji.

import { el } from "../dom.js";
import { EMOJI_GROUPS } from "../emoji_table.js";
import { icon } from "../icons.js";
import { customEmoji, standardEmoji } from "../markdown/render.js";

const WORD = /(?:^|[\s(])([@#:])([\p{L}\p{N}_]*)$/u;
const LEAST_EMOJI = 2;

// {title, items, from}: taking an item replaces the text from `from` to the caret.
export function completionAt(app, text, caret) {
  const found = WORD.exec(text.slice(0, caret));
  if (!found) return null;
  const [, sign, typed] = found;
  const from = caret - typed.length - 1;
  const low = typed.toLowerCase();
  if (sign === "@") return { from, title: "Members", items: members(app, low) };
  if (sign === "#") return { from, title: "Channels", items: channels(app, low) };
  return typed.length < LEAST_EMOJI ? null : { from, title: "Emoji", items: emoji(app, low) };
}

function members(app, typed) {
  const { people, store } = app;
  return [...store.users.values()]
    .filter(
      (user) =>
        user.username.toLowerCase().startsWith(typed) ||
        people.nameOf(user).toLowerCase().startsWith(typed),
    )
    .sort((a, b) => Number(b.bot) - Number(a.bot))
    .map((user) => ({
      label: people.nameOf(user),
      detail: user.username,
      picture: el("img", {
        class: "avatar",
        src: people.drawnFace(user, false),
        alt: "",
        width: 24,
        height: 24,
      }),
      value: `@${people.nameOf(user)} `,
    }));
}

function channels(app, typed) {
  return [...app.store.channels.values()]
    .filter((channel) => channel.name?.toLowerCase().startsWith(typed) && channel.type !== 4)
    .map((channel) => ({
      label: channel.name,
      picture: icon("hash", 20),
      value: `#${channel.name} `,
    }));
}

function emoji(app, typed) {
  const custom = app.people.customEmoji.map((one) => ({
    name: one.name,
    picture: () => customEmoji(one.name, one.id, app.people),
    value: `:${one.name}: `,
  }));
  const standard = EMOJI_GROUPS.flatMap((group) => group.emoji).map((one) => ({
    name: one.name,
    picture: () => standardEmoji(one.sign),
    value: `${one.sign} `,
  }));
  return [...custom, ...standard]
    .filter((one) => one.name.toLowerCase().includes(typed))
    .slice(0, 10)
    .map((one) => ({ label: `:${one.name}:`, picture: one.picture(), value: one.value }));
}
