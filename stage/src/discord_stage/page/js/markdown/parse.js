// Discord's Markdown as a tree. Order is data: at every place the first rule that matches wins.
// It is not CommonMark: nothing is an error, and what does not match is text.

import { fence, heading, list, quote, subtext } from "./lines.js";
import {
  angle,
  autoLink,
  emoji,
  escape,
  everyone,
  inlineCode,
  maskedLink,
  shrug,
  span,
} from "./spans.js";

const DEEPEST = 24;

const LINE_RULES = [quote, heading, subtext, list];
const RULES = [
  ["escape", escape],
  ["shrug", shrug],
  ["fence", fence],
  ["code", inlineCode],
  ["angle", angle],
  ["link", autoLink],
  ["masked", maskedLink],
  ["everyone", everyone],
  ["spoiler", span("||", "spoiler")],
  ["strong", span("**", "strong")],
  ["underline", span("__", "underline")],
  ["em", span("*", "em")],
  ["em_", span("_", "em")],
  ["strike", span("~~", "strike")],
  ["emoji", emoji],
];
export const ORDER = RULES.map(([name]) => name);

const PLAIN = /[^\\`*_~|<\[@h\n¯:\u00a9\u00ae\u203c-\u{10ffff}#0-9]+/uy;

// `lines`: quotes, headings and lists may begin here. `quoted`: a quote has no quote inside.
export function parse(text, state = { lines: true, quoted: false, depth: 0 }) {
  if (state.depth > DEEPEST) return [{ type: "text", text }];
  const inner = (part, changes = {}) =>
    parse(part, { ...state, ...changes, depth: state.depth + 1 });
  const nodes = [];
  let at = 0;
  while (at < text.length) {
    const found = match(text, at, state, inner);
    if (found) {
      nodes.push(found.node);
      at = found.end;
    } else {
      const end = plainEnd(text, at);
      addText(nodes, text.slice(at, end));
      at = end;
    }
  }
  return nodes;
}

function match(text, at, state, inner) {
  if (state.lines && (at === 0 || text[at - 1] === "\n")) {
    for (const rule of LINE_RULES) {
      if (rule === quote && state.quoted) continue;
      const found = rule(text, at, inner);
      if (found) return found;
    }
  }
  for (const [, rule] of RULES) {
    const found = rule(text, at, inner);
    if (found) return found;
  }
  return null;
}

function plainEnd(text, at) {
  PLAIN.lastIndex = at;
  const run = PLAIN.exec(text);
  return run ? PLAIN.lastIndex : at + (text.codePointAt(at) > 0xffff ? 2 : 1);
}

function addText(nodes, text) {
  const last = nodes.at(-1);
  if (last?.type === "text") last.text += text;
  else nodes.push({ type: "text", text });
}

// Only emoji, at most thirty: shown large.
export function isJumbo(nodes) {
  let count = 0;
  for (const node of nodes) {
    if (node.type === "emoji" || node.type === "unicode") count += 1;
    else if (node.type !== "text" || node.text.trim()) return false;
  }
  return count > 0 && count <= 30;
}

// What a tree says, for labels and previews.
export function plain(nodes) {
  return nodes.map(plainOne).join("");
}

function plainOne(node) {
  if (node.items) return node.items.map((item) => plain(item)).join(" ");
  if (node.type === "spoiler") return "▒▒▒";
  if (node.children) return plain(node.children);
  if (node.type === "emoji") return `:${node.name}:`;
  return node.text ?? node.url ?? "";
}
