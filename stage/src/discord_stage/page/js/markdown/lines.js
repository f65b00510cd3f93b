// What begins at the start of a line (a fence may begin anywhere): (text, at, inner) → node and end.

const FENCE = /```(?:([a-z0-9_+\-.#]+?)\n)?\n*([^\n][^]*?)\n*```\n?/iy;
const QUOTE_REST = / *>>> ?([^]*)/y;
const QUOTE_LINE = / *> ([^\n]*)(?:\n|$)/y;
const HEADING = / *(#{1,3}) +(?=\S)([^\n]*)(?:\n|$)/y;
const SUBTEXT = /-# +(?=\S)([^\n]*)(?:\n|$)/y;
const ITEM = /( *)([-*]|\d{1,9}\.) +(?=\S)([^\n]*)(?:\n|$)/y;
const CONTINUED = / {2,}(?=\S)([^\n]*)(?:\n|$)/y;
const ANY_LINE = /([^\n]*)(?:\n|$)/y;
const DEEPEST_LIST = 10;

function at_(pattern, text, at) {
  pattern.lastIndex = at;
  return pattern.exec(text);
}

export function fence(text, at) {
  if (text[at] !== "`") return null;
  const found = at_(FENCE, text, at);
  if (!found) return null;
  return {
    end: FENCE.lastIndex,
    node: { type: "fence", lang: (found[1] ?? "").toLowerCase(), text: found[2] },
  };
}

export function quote(text, at, inner) {
  const rest = at_(QUOTE_REST, text, at);
  if (rest) return { end: text.length, node: quoteOf(rest[1], inner) };
  const lines = [];
  let end = at;
  for (
    let line = at_(QUOTE_LINE, text, end);
    line && end < text.length;
    line = at_(QUOTE_LINE, text, end)
  ) {
    lines.push(line[1]);
    end = QUOTE_LINE.lastIndex;
  }
  return lines.length ? { end, node: quoteOf(lines.join("\n"), inner) } : null;
}

function quoteOf(text, inner) {
  return { type: "quote", children: inner(text, { quoted: true }) };
}

export function heading(text, at, inner) {
  const found = at_(HEADING, text, at);
  if (!found) return null;
  const children = inner(found[2].trimEnd(), { lines: false });
  return { end: HEADING.lastIndex, node: { type: "heading", level: found[1].length, children } };
}

export function subtext(text, at, inner) {
  const found = at_(SUBTEXT, text, at);
  if (!found) return null;
  return {
    end: SUBTEXT.lastIndex,
    node: { type: "subtext", children: inner(found[1], { lines: false }) },
  };
}

export function list(text, at, inner) {
  const items = [];
  let end = at;
  while (end < text.length) {
    const found = at_(ITEM, text, end);
    if (found) {
      end = ITEM.lastIndex;
      items.push({ level: Math.floor(found[1].length / 2), marker: found[2], lines: [found[3]] });
    } else if (items.length) {
      const more = continued(text, end, items.at(-1));
      if (!more) break;
      end = more;
    } else break;
  }
  return items.length ? { end, node: tree(items, inner) } : null;
}

// An indented line goes on with its item; so does all of a fence that is open.
function continued(text, at, item) {
  const open = item.lines.join("\n").split("```").length % 2 === 0;
  const pattern = open ? ANY_LINE : CONTINUED;
  const found = at_(pattern, text, at);
  if (!found) return 0;
  item.lines.push(found[1]);
  return pattern.lastIndex;
}

function tree(items, inner) {
  const root = { type: "lists", children: [] };
  const stack = [{ level: -1, node: null, lists: root.children }];
  for (const item of items) {
    const level = Math.min(item.level, stack.at(-1).level + 1, DEEPEST_LIST);
    while (stack.at(-1).level >= level) stack.pop();
    const parent = stack.at(-1);
    const children = inner(item.lines.join("\n"), { lines: false });
    listIn(parent.lists, item.marker).items.push(children);
    stack.push({ level, lists: children });
  }
  return root;
}

function listIn(lists, marker) {
  const ordered = /\d/.test(marker);
  const last = lists.at(-1);
  if (last?.type === "list" && last.ordered === ordered) return last;
  const node = { type: "list", ordered, start: ordered ? parseInt(marker, 10) : 1, items: [] };
  lists.push(node);
  return node;
}
