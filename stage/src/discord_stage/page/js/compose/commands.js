// The commands that a slash offers: subcommands are flattened into lines of their own.

import { el } from "../dom.js";
import { attempt } from "../toast.js";

const SLASH = 1;
const SUBCOMMAND = 1;
const GROUP = 2;

// [{line: "persona add", description, options}]
export function commandLines(commands) {
  const slash = commands.filter((command) => command.type === SLASH);
  const lines = slash.flatMap((command) => flatten(command.name, command));
  return lines.sort((a, b) => a.line.localeCompare(b.line));
}

function flatten(line, entry) {
  const options = entry.options ?? [];
  const inner = options.filter((option) => option.type === SUBCOMMAND || option.type === GROUP);
  if (!inner.length) return [{ line, description: entry.description, options }];
  return inner.flatMap((option) => flatten(`${line} ${option.name}`, option));
}

export function matchingCommands(app, text) {
  if (!text.startsWith("/") || text.includes("\n")) return [];
  const typed = text.slice(1).trimStart().toLowerCase();
  const lines = commandLines(app.store.world.commands);
  const starts = lines.filter(({ line }) => line.startsWith(typed));
  const has = lines.filter(({ line }) => !line.startsWith(typed) && line.includes(typed));
  return [...starts, ...has].map((command) => ({
    label: `/${command.line}`,
    detail: command.description,
    picture: face(app),
    value: command,
  }));
}

// What the API says of it, or null: then the reason has been shown.
export function runCommand(app, command, options) {
  const { channelId: channel, me: user } = app.store;
  return attempt(() => app.api.post("run", { command: command.line, options, channel, user }));
}

const face = (app) =>
  el("img", {
    class: "avatar",
    src: `/cdn/avatars/${app.store.world.bot.id}.svg`,
    alt: "",
    width: 24,
    height: 24,
  });
