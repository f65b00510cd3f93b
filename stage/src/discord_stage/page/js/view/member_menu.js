// What can be done with a member: the bot's entries for people, and leaving; and how somebody joins.

import { el, freshId } from "../dom.js";
import { openMenu } from "../menu.js";
import { attempt } from "../toast.js";
import { openDialog } from "./dialog.js";

const ON_PERSON = 2;
const NAME_MOST = 32;

export function memberEntries(app, user) {
  const { store, people } = app;
  const commands = store.world.commands.filter((command) => command.type === ON_PERSON);
  const entries = commands.map((command) => ({
    label: command.name,
    hint: people.nameOf(store.world.bot),
    icon: "command",
    run: () => choose(app, command, user),
  }));
  if (!user.bot && user.id !== store.me && store.channels.get(store.channelId)?.guild_id)
    entries.push(...(entries.length ? [null] : []), {
      label: "Leave the server",
      icon: "trash",
      danger: true,
      run: () => attempt(() => app.api.post("leave", { user: user.id })),
    });
  return entries;
}

export function openMemberMenu(app, user, opener, at = null) {
  openMenu(opener, memberEntries(app, user), { label: app.people.nameOf(user), at });
}

function choose(app, command, user) {
  const { store } = app;
  const body = { entry: command.name, person: user.id, channel: store.channelId, user: store.me };
  attempt(async () => app.answered(await app.api.post("choose", body)));
}

export function openJoin(app) {
  const id = freshId("join");
  const name = el("input", {
    id,
    autocomplete: "off",
    maxlength: String(NAME_MOST),
    required: true,
    data: { field: "user" },
  });
  openDialog({
    title: "Somebody joins",
    content: [
      el("p", {}, "The bot is told that a new member is here. To write as them, press your own name at the lower left."),
      el("div", { class: "field" }, el("label", { for: id }, "Name"), name),
    ],
    submitLabel: "Join",
    submit: () => app.api.post("join", { user: name.value }),
  });
}
