// What an option can be, and what was typed as the value it stands for.

import { attempt } from "../toast.js";

const INTEGER = 4;
const BOOLEAN = 5;
const USER = 6;
const CHANNEL = 7;
const ROLE = 8;
const MENTIONABLE = 9;
const NUMBER = 10;
const ATTACHMENT = 11;

// Choices of the bot's, or what there is of this kind.
export async function suggestionsFor(app, command, field, others) {
  const { option, input } = field;
  const typed = input.value.trim().toLowerCase();
  if (option.autocomplete) return fromBot(app, command, option, input.value, others);
  return offered(app, option)
    .filter(({ label }) => label.toLowerCase().includes(typed))
    .map(({ label, value }) => ({ label, value: { label, value } }));
}

function offered(app, option) {
  const { store, people } = app;
  const guild = store.guild;
  if (option.choices?.length)
    return option.choices.map(({ name, value }) => ({ label: name, value }));
  if (option.type === BOOLEAN)
    return [
      { label: "True", value: true },
      { label: "False", value: false },
    ];
  if (option.type === USER)
    return [...store.users.values()].map((user) => ({
      label: people.nameOf(user),
      value: user.username,
    }));
  if (option.type === CHANNEL)
    return guild.channels.map((channel) => ({ label: `#${channel.name}`, value: channel.name }));
  if (option.type === ROLE || option.type === MENTIONABLE)
    return guild.roles.map((role) => ({ label: role.name, value: role.name }));
  return [];
}

async function fromBot(app, command, option, typed, options) {
  const body = {
    command: command.line,
    option: option.name,
    typed,
    options,
    channel: app.store.channelId,
    user: app.store.me,
  };
  const begun = await attempt(() => app.api.post("complete", body));
  const answer = begun && (await app.interactions.outcome(begun));
  return (answer?.choices ?? []).map(({ name, value }) => ({
    label: name,
    value: { label: name, value },
  }));
}

// undefined: nothing there. An Error: not what the option takes.
export function readValue({ option, input, value }) {
  if (value !== undefined) return value;
  const text = input.value.trim();
  if (!text) return undefined;
  if (option.choices?.length) return chosen(option, text);
  if (option.type === INTEGER)
    return /^-?\d+$/.test(text) ? Number(text) : new Error(`${option.name} is a whole number.`);
  if (option.type === NUMBER)
    return Number.isFinite(Number(text)) ? Number(text) : new Error(`${option.name} is a number.`);
  if (option.type === BOOLEAN)
    return /^(?:true|false)$/i.test(text)
      ? /^true$/i.test(text)
      : new Error(`${option.name} is True or False.`);
  if (option.type === ATTACHMENT)
    return new Error("The stage cannot attach files to a command yet.");
  if ([USER, CHANNEL, ROLE, MENTIONABLE].includes(option.type)) return text.replace(/^[@#]/, "");
  return text;
}

function chosen(option, text) {
  const found = option.choices.find(({ name }) => name.toLowerCase() === text.toLowerCase());
  return found
    ? found.value
    : new Error(`${option.name} is one of ${option.choices.map(({ name }) => name).join(", ")}.`);
}
