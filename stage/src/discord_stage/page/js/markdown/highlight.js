// Colours for code: one tokenizer for all languages, driven by the table in languages.js.

import { languageOf } from "./languages.js";

const KINDS = ["comment", "added", "removed", "string", "tag", "name", "meta"];
const NUMBER = "\\b(?:0[xX][\\da-fA-F_]+|0[bB][01_]+|\\d[\\d_]*(?:\\.\\d+)?(?:[eE][+-]?\\d+)?)\\w*";
const WORD = "[\\p{L}_$][\\p{L}\\p{N}_$]*";
const CALL = /^\s*\(/;
const LONGEST = 20_000;
const compiled = new Map();

function patternOf(language) {
  if (!compiled.has(language)) {
    const parts = KINDS.filter((kind) => language[kind]).map(
      (kind) => `(?<${kind}>${language[kind]})`,
    );
    parts.push(`(?<number>${NUMBER})`, `(?<word>${WORD})`);
    compiled.set(language, new RegExp(parts.join("|"), "gmu"));
  }
  return compiled.get(language);
}

// Pieces of the code, each with its kind; kind "" is plain.
export function tokenize(code, name) {
  const language = languageOf(name);
  if (!language || code.length > LONGEST) return [{ kind: "", text: code }];
  const tokens = [];
  let at = 0;
  for (const found of code.matchAll(patternOf(language))) {
    if (!found[0]) continue;
    if (found.index > at) tokens.push({ kind: "", text: code.slice(at, found.index) });
    at = found.index + found[0].length;
    tokens.push({ kind: kindOf(found, language, code, at), text: found[0] });
  }
  if (at < code.length) tokens.push({ kind: "", text: code.slice(at) });
  return tokens;
}

function kindOf(found, language, code, end) {
  const kind = Object.keys(found.groups).find((name) => found.groups[name] !== undefined);
  if (kind !== "word") return kind;
  const word = language.folds ? found[0].toLowerCase() : found[0];
  if (language.keywords.has(word)) return "keyword";
  if (language.constants.has(word)) return "constant";
  return CALL.test(code.slice(end, end + 20)) ? "call" : "";
}
