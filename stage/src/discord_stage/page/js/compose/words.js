// Between what people type and what is sent: @name, #channel and :emoji: have ids.

import { BY_NAME } from "../emoji_table.js";

const FENCED = /(```[^]*?```|`[^`\n]*`)/;

export function outgoing(text, people) {
  return text
    .split(FENCED)
    .map((part, i) => (i % 2 ? part : translated(part, people)))
    .join("");
}

function translated(text, people) {
  const { store } = people;
  let result = text;
  const users = [...store.users.values()].flatMap((user) =>
    [people.nameOf(user), user.username].map((name) => [`@${name}`, `<@${user.id}>`]),
  );
  const channels = [...store.channels.values()]
    .filter((channel) => channel.name)
    .map((channel) => [`#${channel.name}`, `<#${channel.id}>`]);
  const custom = new Map(
    people.customEmoji.map((emoji) => [
      emoji.name,
      `<${emoji.animated ? "a" : ""}:${emoji.name}:${emoji.id}>`,
    ]),
  );
  for (const [written, sent] of [...users, ...channels].sort((a, b) => b[0].length - a[0].length))
    result = replaceWhole(result, written, sent);
  return result.replace(
    /(?<![<\w])(?<!<a):(\w{2,32}):(?!\d)/g,
    (whole, name) => custom.get(name) ?? BY_NAME.get(name) ?? whole,
  );
}

// Not inside a longer word: `@mika` is not in `@mikael` nor in `x@mika`.
function replaceWhole(text, written, sent) {
  let result = "";
  let at = 0;
  for (let found = text.indexOf(written); found >= 0; found = text.indexOf(written, at)) {
    const end = found + written.length;
    const whole =
      !/[\p{L}\p{N}_<]/u.test(text[found - 1] ?? " ") && !/[\p{L}\p{N}_]/u.test(text[end] ?? " ");
    result += text.slice(at, found) + (whole ? sent : written);
    at = end;
  }
  return result + text.slice(at);
}

// The way back, for editing.
export function editable(text, people) {
  return text
    .replace(/<@!?(\d+)>/g, (whole, id) => (people.user(id) ? `@${people.user(id).name}` : whole))
    .replace(/<#(\d+)>/g, (whole, id) =>
      people.channel(id) ? `#${people.channel(id).name}` : whole,
    )
    .replace(/<a?:(\w+):\d+>/g, ":$1:");
}
