// What an option can be, and what was typed as the value it stands for.

import { attempt } from "../toast.js";
import { outgoing } from "./words.js";

const STRING = 3;
const INTEGER = 4;
const BOOLEAN = 5;
const USER = 6;
const CHANNEL = 7;
const ROLE = 8;
const MENTIONABLE = 9;
const NUMBER = 10;
const ATTACHMENT = 11;
const THINGS = { [USER]: "member", [CHANNEL]: "channel", [ROLE]: "role", [MENTIONABLE]: "role" };

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
      id: user.id,
    }));
  if (option.type === CHANNEL)
    return [...guild.channels, ...guild.threads].map(({ name, id }) => ({
      label: `#${name}`,
      value: name,
      id,
    }));
  if (option.type === ROLE || option.type === MENTIONABLE)
    return guild.roles.map(({ name, id }) => ({ label: name, value: name, id }));
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
export function readValue(app, { option, input, value }) {
  return value !== undefined ? value : valueOf(app, option, input.value);
}

export function valueOf(app, option, written) {
  const text = written.trim();
  if (!text) return undefined;
  if (option.choices?.length || option.type in THINGS) return known(app, option, text);
  if (option.type === INTEGER)
    return /^-?\d+$/.test(text) ? Number(text) : new Error(`${option.name} is a whole number.`);
  if (option.type === NUMBER)
    return Number.isFinite(Number(text)) ? Number(text) : new Error(`${option.name} is a number.`);
  if (option.type === BOOLEAN)
    return /^(?:true|false)$/i.test(text)
      ? /^true$/i.test(text)
      : new Error(`${option.name} is True or False.`);
  if (option.type === ATTACHMENT)
    return new Error(`${option.name} is a file: choose it in the form of the command.`);
  return outgoing(text, app.people);
}

export const isFile = (option) => option.type === ATTACHMENT;
export const isFreeText = (option) => option.type === STRING && !option.choices?.length;

// By its name as it is shown or as it is kept; people also by a mention.
function known(app, option, text) {
  const bare = /^<[@#]&?!?(\d+)>$/.exec(text)?.[1] ?? text.replace(/^[@#]/, "");
  const low = bare.toLowerCase();
  const all = offered(app, option);
  const found = all.find(({ label, value, id }) =>
    [label.replace(/^#/, ""), String(value), id].some((name) => name?.toLowerCase() === low),
  );
  if (found) return found.value;
  const what = THINGS[option.type];
  return new Error(
    what
      ? `${option.name}: there is no ${what} ${text}.`
      : `${option.name} is one of ${all.map(({ label }) => label).join(", ")}.`,
  );
}

// What may stand in a line for this option, in small letters, if it can be more than a word.
export function namesOf(app, option) {
  if (!option.choices?.length && !(option.type in THINGS)) return [];
  return offered(app, option).flatMap(({ label }) => {
    const name = label.toLowerCase();
    return option.type === USER || option.type === ROLE ? [name, `@${name}`] : [name];
  });
}
