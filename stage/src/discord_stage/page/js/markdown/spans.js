// What stands inside a line: (text, at, inner) → node and end, or null.

const ESCAPED = /\\([^0-9A-Za-z\s])/y;
const CODE = /(`+)([^]*?[^`])\1(?!`)/y;
const URL = /https?:\/\/[^\s<]+[^<.,:;"'\]\s]/y;
const ANGLE_URL = /<(https?:\/\/[^\s>]+)>/y;
const CUSTOM_EMOJI = /<(a?):(\w{2,32}):(\d{5,21})>/y;
const TIMESTAMP = /<t:(-?\d{1,17})(?::([tTdDfFRsS]))?>/y;
const USER = /<@!?(\d{5,21})>/y;
const ROLE = /<@&(\d{5,21})>/y;
const CHANNEL = /<#(\d{5,21})>/y;
const COMMAND = /<\/([^:>\n]{1,100}):(\d{5,21})>/y;
const EVERYONE = /@(?:everyone|here)\b/y;
const SHRUG = "¯\\_(ツ)_/¯";
const LABEL_MOST = 1000;

// Not every browser knows the set of all emoji; then single pictures are known.
const UNICODE = (() => {
  try {
    return new RegExp("\\p{RGI_Emoji}", "vy");
  } catch {
    return /\p{Emoji_Presentation}|\p{Extended_Pictographic}\ufe0f/uy;
  }
})();

function exec(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

const node = (pattern, made) => ({ end: pattern.lastIndex, node: made });

export function escape(text, at) {
  if (text[at] !== "\\") return null;
  const found = exec(ESCAPED, text, at);
  return found && node(ESCAPED, { type: "text", text: found[1] });
}

export function shrug(text, at) {
  if (!text.startsWith(SHRUG, at)) return null;
  return { end: at + SHRUG.length, node: { type: "text", text: SHRUG } };
}

export function inlineCode(text, at) {
  if (text[at] !== "`") return null;
  const found = exec(CODE, text, at);
  if (!found || !found[2].trim()) return null;
  return node(CODE, { type: "code", text: found[2].replace(/^ (?=`)|(?<=`) $/g, "") });
}

const ANGLES = [
  [ANGLE_URL, (m) => ({ type: "link", url: m[1], children: null })],
  [CUSTOM_EMOJI, (m) => ({ type: "emoji", name: m[2], id: m[3], animated: m[1] === "a" })],
  [
    TIMESTAMP,
    (m) => ({ type: "timestamp", seconds: Number(m[1]), style: m[2] ?? "f", text: m[0] }),
  ],
  [USER, (m) => ({ type: "user", id: m[1], text: m[0] })],
  [ROLE, (m) => ({ type: "role", id: m[1], text: m[0] })],
  [CHANNEL, (m) => ({ type: "channel", id: m[1], text: m[0] })],
  [COMMAND, (m) => ({ type: "command", name: m[1], id: m[2], text: `/${m[1]}` })],
];

export function angle(text, at) {
  if (text[at] !== "<") return null;
  for (const [pattern, make] of ANGLES) {
    const found = exec(pattern, text, at);
    if (found) return node(pattern, make(found));
  }
  return null;
}

export function autoLink(text, at) {
  if (text[at] !== "h") return null;
  const found = exec(URL, text, at);
  if (!found) return null;
  let url = found[0];
  // A bracket that was opened before the address closes after it.
  while (url.endsWith(")") && count(url, ")") > count(url, "(")) url = url.slice(0, -1);
  return { end: at + url.length, node: { type: "link", url, children: null } };
}

const count = (text, sign) => text.split(sign).length - 1;

export function maskedLink(text, at, inner) {
  if (text[at] !== "[") return null;
  const close = closing(text, at, "[", "]");
  if (close < 0 || text[close + 1] !== "(") return null;
  const end = closing(text, close + 1, "(", ")");
  if (end < 0) return null;
  const label = text.slice(at + 1, close);
  const target = /^\s*<?(https?:\/\/[^\s<>]+)>?(?:\s+"[^"]*")?\s*$/.exec(
    text.slice(close + 2, end),
  );
  if (!target || !label.trim() || /https?:\/\//.test(label)) return null;
  const children = inner(label, { lines: false });
  return { end: end + 1, node: { type: "link", url: target[1], children } };
}

function closing(text, at, open, close) {
  let depth = 0;
  for (let i = at; i < Math.min(text.length, at + LABEL_MOST); i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === open) depth += 1;
    else if (text[i] === close && --depth === 0) return i;
  }
  return -1;
}

export function everyone(text, at) {
  if (text[at] !== "@") return null;
  const found = exec(EVERYONE, text, at);
  return found && node(EVERYONE, { type: "everyone", text: found[0] });
}

export function emoji(text, at) {
  if (text.charCodeAt(at) < 0x23) return null;
  const found = exec(UNICODE, text, at);
  return found && node(UNICODE, { type: "unicode", text: found[0] });
}

// A pair of marks with something between them.
export function span(mark, type) {
  const single = mark.length === 1;
  return (text, at, inner) => {
    if (!text.startsWith(mark, at)) return null;
    const from = at + mark.length;
    if (single && (text[from] === mark || (mark === "*" && /\s/.test(text[from] ?? " "))))
      return null;
    const end = spanEnd(text, from, mark, single);
    if (end <= from) return null;
    const children = inner(text.slice(from, end), { lines: false });
    return { end: end + mark.length, node: { type, children } };
  };
}

function spanEnd(text, from, mark, single) {
  for (let i = from; i < text.length; i += 1) {
    if (text[i] === "\\") i += 1;
    else if (text[i] === "`") i = pastCode(text, i);
    else if (text.startsWith(mark, i)) {
      if (single && text[i + 1] === mark) i = doubled(text, i, mark);
      else if (closes(text, i, from, mark)) return i;
      else if (mark === "_") return -1;
    }
  }
  return -1;
}

// Inside `*…*` a pair `**` belongs to bold text.
function doubled(text, at, mark) {
  let end = at;
  while (text[end + 1] === mark) end += 1;
  return (end - at + 1) % 2 === 0 ? end : end - 1;
}

function closes(text, at, from, mark) {
  if (at === from) return false;
  const next = text[at + mark.length] ?? "";
  if (mark === "_") return !/\w/.test(next);
  if (mark === "*") return !/\s/.test(text[at - 1]);
  // `***x***`: the last two of three close.
  return mark === "||" || mark === "~~" || next !== mark[0];
}

function pastCode(text, at) {
  const found = exec(CODE, text, at);
  return found ? CODE.lastIndex - 1 : at;
}
