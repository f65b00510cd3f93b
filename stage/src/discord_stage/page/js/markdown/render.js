// A tree of parse() as elements. `people` knows who and what the ids are.

import { el, onPress } from "../dom.js";
import { icon } from "../icons.js";
import { formatTimestamp } from "../times.js";
import { tokenize } from "./highlight.js";
import { isJumbo, parse } from "./parse.js";

const WRAP = { strong: "strong", em: "em", underline: "u", strike: "s" };
const DISCORD = /^(?:\w+\.)?discord(?:app)?\.com$/;
const PLACE = /^\/channels\/(?:\d+|@me)\/(\d+)(\/\d+)?\/?$/;

export function renderMarkdown(text, people) {
  const nodes = parse(text);
  const box = el("div", { class: "markdown", dir: "auto" }, renderAll(nodes, people));
  if (isJumbo(nodes)) box.classList.add("jumbo");
  orderHeadings(box);
  return box;
}

// Below the channel's title, without a gap: people write `###` first, and screen readers count.
function orderHeadings(box) {
  let level = 1;
  for (const heading of box.querySelectorAll("[role=heading]")) {
    level = Math.min(Number(heading.getAttribute("aria-level")), level + 1);
    heading.setAttribute("aria-level", String(level));
  }
}

export function renderInline(text, people) {
  return renderAll(parse(text, { lines: false, quoted: true, depth: 0 }), people);
}

function renderAll(nodes, people) {
  return nodes.map((node) => RENDER[node.type](node, people));
}

const inside = (node, people) => renderAll(node.children, people);

const RENDER = {
  text: (node) => node.text,
  strong: (node, people) => el(WRAP.strong, {}, inside(node, people)),
  em: (node, people) => el(WRAP.em, {}, inside(node, people)),
  underline: (node, people) => el(WRAP.underline, {}, inside(node, people)),
  strike: (node, people) => el(WRAP.strike, {}, inside(node, people)),
  spoiler,
  code: (node) => el("code", { class: "inline-code" }, node.text),
  fence: (node) => codeBlock(node.text, node.lang),
  quote: (node, people) => el("blockquote", {}, inside(node, people)),
  // Real headings would break the outline of the page: a message is no section.
  heading: (node, people) =>
    el(
      "div",
      { class: `heading h${node.level}`, role: "heading", "aria-level": String(node.level + 1) },
      inside(node, people),
    ),
  subtext: (node, people) => el("small", { class: "subtext" }, inside(node, people)),
  lists: (node, people) => el("div", { class: "lists" }, inside(node, people)),
  list: (node, people) => {
    const items = node.items.map((item) => el("li", {}, renderAll(item, people)));
    return node.ordered ? el("ol", { start: node.start }, items) : el("ul", {}, items);
  },
  link,
  emoji: (node, people) => customEmoji(node.name, node.id, people),
  unicode: (node) => standardEmoji(node.text),
  timestamp: (node) => {
    const shown = formatTimestamp(node.seconds, node.style);
    if (!shown) return node.text;
    return el(
      "time",
      {
        class: "timestamp",
        datetime: shown.iso,
        title: shown.full,
        data: { seconds: String(node.seconds), style: node.style },
      },
      shown.text,
    );
  },
  user: (node, people) => mention(people.user(node.id), "@", node.text),
  role: (node, people) => mention(people.role(node.id), "@", node.text),
  channel: (node, people) => channelMention(node, people),
  everyone: (node) => el("span", { class: "mention" }, node.text),
  command: (node, people) => {
    const button = el("button", { class: "mention", type: "button" }, node.text);
    button.addEventListener("click", () => people.startCommand(node.name));
    return button;
  },
};

function mention(found, sign, fallback) {
  const shown = el("span", { class: "mention" }, found ? sign + found.name : fallback);
  if (found?.color) shown.style.setProperty("--tint", found.color);
  return shown;
}

function channelMention(node, people) {
  const found = people.channel(node.id);
  if (!found) return el("span", { class: "mention" }, "#unknown");
  return el("a", { class: "mention", href: found.path, data: { inside: "" } }, `#${found.name}`);
}

function link(node, people) {
  const place = placeOf(node.url);
  if (place && !node.children) return placeChip(place, node.url, people);
  const content = node.children ? renderAll(node.children, people) : node.url;
  if (place) return el("a", { href: place.path, data: { inside: "" }, title: node.url }, content);
  return el(
    "a",
    { href: node.url, target: "_blank", rel: "noopener noreferrer nofollow", title: node.url },
    content,
  );
}

// A channel or a message, of Discord's or of this page's address.
function placeOf(url) {
  if (!URL.canParse(url)) return null;
  const { hostname, host, pathname } = new URL(url);
  const found = (DISCORD.test(hostname) || host === location.host) && PLACE.exec(pathname);
  return found && { path: pathname, channelId: found[1], hasMessage: Boolean(found[2]) };
}

// As Discord shows it: `#general › message`.
function placeChip({ path, channelId, hasMessage }, url, people) {
  const found = people.channel(channelId);
  const name = found ? found.sign + found.name : "#unknown";
  const message = hasMessage ? [" › ", icon("thread", 14)] : null;
  return el(
    "a",
    {
      class: "mention place",
      href: path,
      title: url,
      "aria-label": hasMessage ? `Message in ${name}` : name,
      data: { inside: "" },
    },
    name,
    message,
  );
}

function spoiler(node, people) {
  const hidden = el("span", { inert: true }, inside(node, people));
  const shade = el(
    "span",
    {
      class: "spoiler",
      role: "button",
      tabindex: "0",
      "aria-label": "Spoiler: press to show",
      "aria-expanded": "false",
    },
    hidden,
  );
  onPress(shade, (event) => {
    if (shade.classList.contains("shown")) return;
    event.preventDefault();
    shade.classList.add("shown");
    hidden.inert = false;
    for (const name of ["role", "tabindex", "aria-label", "aria-expanded"])
      shade.removeAttribute(name);
  });
  return shade;
}

export function codeBlock(text, lang = "") {
  const pieces = tokenize(text, lang).map(({ kind, text: piece }) =>
    kind ? el("span", { class: `tok-${kind}` }, piece) : piece,
  );
  const copy = el(
    "button",
    { class: "copy-code", type: "button", title: "Copy", "aria-label": "Copy code" },
    icon("copy", 16),
  );
  copy.addEventListener("click", () => {
    navigator.clipboard?.writeText(text);
    copy.classList.add("done");
    setTimeout(() => copy.classList.remove("done"), 1200);
  });
  const code = el("code", { data: { lang } }, pieces);
  // It scrolls sideways, so the keyboard has to reach it.
  return el(
    "div",
    { class: "code-block" },
    el(
      "pre",
      { tabindex: "0", role: "group", "aria-label": lang ? `Code, ${lang}` : "Code" },
      code,
    ),
    copy,
  );
}

export function customEmoji(name, id, people) {
  const picture = el("img", {
    class: "emoji",
    src: people.emojiSource(id),
    alt: `:${name}:`,
    title: `:${name}:`,
    draggable: "false",
    loading: "lazy",
  });
  picture.addEventListener("error", () => picture.replaceWith(`:${name}:`), { once: true });
  return picture;
}

// Twemoji's file names leave out the variation sign, except in joined sequences.
export function standardEmoji(text) {
  const signs = text.includes("\u200d") ? text : text.replaceAll("\ufe0f", "");
  const name = [...signs].map((sign) => sign.codePointAt(0).toString(16)).join("-");
  const picture = el("img", {
    class: "emoji",
    src: `/cdn/twemoji/${name}.svg`,
    alt: text,
    draggable: "false",
    loading: "lazy",
  });
  picture.addEventListener(
    "error",
    () => picture.replaceWith(el("span", { class: "emoji-text" }, text)),
    { once: true },
  );
  return picture;
}
