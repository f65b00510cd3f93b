// A whole command typed as one line: `/echo hello 2`, `/echo times:2 text:hello there`.

import { commandLines } from "./commands.js";
import { isFreeText, namesOf, valueOf } from "./options.js";

const NAMED = /([-_\p{L}\p{N}]+):/uy;
const SPACES = /\s*/y;
const WORD = /"[^"]*"|\S*/y;
const QUOTED = /^"([^"]*)"$/;

// null: no command, so a message. Otherwise {command, values}, or an Error that says what is wrong.
export function readLine(app, text) {
  if (!text.startsWith("/")) return null;
  const lines = commandLines(app.store.world.commands);
  const command = commandOf(lines, text);
  if (!command) return unfinished(lines, wordsOf(text)[0]);
  const values = new Filling(app, command, afterWords(text, command.line)).values();
  return values instanceof Error ? values : { command, values };
}

// While a line is typed: {command, filled, current}, or null if it is not that far.
export function usageOf(app, text) {
  if (!text.startsWith("/")) return null;
  const command = commandOf(commandLines(app.store.world.commands), text);
  if (!command || !/\s/.test(text.slice(command.line.length + 1))) return null;
  const filling = new Filling(app, command, afterWords(text, command.line));
  return { command, ...filling.sofar() };
}

const wordsOf = (text) => text.slice(1).toLowerCase().split(/\s+/);

function commandOf(lines, text) {
  const words = wordsOf(text);
  return lines.findLast(({ line }) => line.split(" ").every((one, i) => one === words[i]));
}

function unfinished(lines, name) {
  const inner = lines.filter(({ line }) => line.startsWith(`${name} `));
  if (!inner.length) return null;
  return new Error(`/${name} is not whole: ${inner.map(({ line }) => `/${line}`).join(", ")}.`);
}

function afterWords(text, line) {
  const count = line.split(" ").length;
  return text.replace(new RegExp(`^/(?:\\S+(?:\\s+|$)){${count}}`), "");
}

// Puts words into options: by name, or one after another.
class Filling {
  constructor(app, command, rest) {
    this.app = app;
    this.command = command;
    this.rest = rest;
    this.slots = new Map();
    this.current = null;
  }

  values() {
    for (const piece of this.#pieces()) {
      const wrong = this.#put(piece);
      if (wrong) return wrong;
    }
    const missing = this.command.options.filter(
      (option) => option.required && !this.slots.has(option),
    );
    if (missing.length) return new Error(this.#needs(missing));
    const values = {};
    for (const option of this.slots.keys()) {
      const value = this.#value(option);
      if (value instanceof Error) return value;
      values[option.name] = value;
    }
    return values;
  }

  // What is filled in, and the option that the next letter goes to.
  sofar() {
    for (const piece of this.#pieces()) if (this.#put(piece)) break;
    const next = this.command.options.find((option) => !this.slots.has(option)) ?? null;
    const goesOn = this.current && !/\s$/.test(this.rest);
    return { filled: new Set(this.slots.keys()), current: goesOn ? this.current : (next ?? this.current) };
  }

  #needs(missing) {
    const told = missing.map(({ name, description }) => `${name} (${description})`);
    return `/${this.command.line} needs ${told.join(" and ")}.`;
  }

  *#pieces() {
    const { rest, command } = this;
    const named = new Map(command.options.map((option) => [option.name, option]));
    for (let at = skip(SPACES, rest, 0); at < rest.length; ) {
      NAMED.lastIndex = at;
      const option = named.get(NAMED.exec(rest)?.[1].toLowerCase()) ?? null;
      const start = option ? at + option.name.length + 1 : at;
      const end = this.#wordEnd(start);
      yield { option, start, end };
      at = skip(SPACES, rest, end);
    }
  }

  // The name of a person, a channel or a role may be several words.
  #wordEnd(start) {
    const { rest, app, command } = this;
    const names = command.options.flatMap((option) => namesOf(app, option));
    const low = rest.slice(start).toLowerCase();
    const whole = names
      .filter((name) => low === name || low.startsWith(`${name} `))
      .sort((a, b) => b.length - a.length);
    return whole.length ? start + whole[0].length : skip(WORD, rest, start);
  }

  #put({ option, start, end }) {
    if (option) {
      this.current = option;
      this.slots.set(option, { start, end, byName: true });
      return null;
    }
    const open = this.slots.get(this.current);
    if (open?.byName && (isFreeText(this.current) || open.start === open.end))
      return this.#extend(open, end);
    return this.#next(start, end, open);
  }

  #extend(slot, end) {
    slot.end = end;
    return null;
  }

  #next(start, end, open) {
    const next = this.command.options.find((option) => !this.slots.has(option));
    const value = next && valueOf(this.app, next, this.#text(start, end));
    if (next && !(value instanceof Error)) {
      this.current = next;
      this.slots.set(next, { start, end, byName: false });
      return null;
    }
    // What does not fit the next option is still text.
    if (open && isFreeText(this.current)) return this.#extend(open, end);
    return value ?? new Error(`/${this.command.line} has no place for ${this.#text(start, end)}.`);
  }

  #value(option) {
    const { start, end } = this.slots.get(option);
    return valueOf(this.app, option, this.#text(start, end)) ?? new Error(`${option.name} is empty.`);
  }

  #text(start, end) {
    const text = this.rest.slice(start, end).trim();
    return QUOTED.exec(text)?.[1] ?? text;
  }
}

function skip(pattern, text, at) {
  pattern.lastIndex = at;
  pattern.test(text);
  return pattern.lastIndex;
}
