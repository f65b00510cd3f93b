// Buttons under a message, and the plain parts of the newer layout.

import { el } from "../dom.js";
import { icon } from "../icons.js";
import { customEmoji, renderMarkdown, standardEmoji } from "../markdown/render.js";
import { ownPath } from "../people.js";
import { attempt } from "../toast.js";

const ROW = 1;
const BUTTON = 2;
const MENUS = new Set([3, 5, 6, 7, 8]);
const SECTION = 9;
const TEXT = 10;
const GALLERY = 12;
const LINE = 14;
const CONTAINER = 17;
const LINK = 5;
const STYLES = { 1: "primary", 2: "secondary", 3: "success", 4: "danger", 5: "secondary" };

export function components(app, message, newLayout) {
  return el(
    "div",
    { class: newLayout ? "components layout" : "components" },
    message.components.map((item) => component(app, message, item)),
  );
}

function component(app, message, item) {
  const inside = () => (item.components ?? []).map((part) => component(app, message, part));
  if (item.type === ROW) return el("div", { class: "button-row" }, inside());
  if (item.type === BUTTON) return button(app, message, item);
  if (item.type === TEXT) return renderMarkdown(item.content ?? "", app.people);
  if (item.type === LINE) return el("hr");
  if (item.type === CONTAINER) return el("div", { class: "embed" }, inside());
  if (item.type === SECTION)
    return el(
      "div",
      { class: "section" },
      el("div", {}, inside()),
      item.accessory ? component(app, message, item.accessory) : null,
    );
  if (item.type === GALLERY)
    return (item.items ?? []).map((part) =>
      el("img", {
        class: "gallery",
        src: ownPath(part.media?.url ?? ""),
        alt: part.description ?? "",
      }),
    );
  if (MENUS.has(item.type))
    return el(
      "button",
      {
        class: "button secondary",
        type: "button",
        disabled: true,
        title: "The stage has no select menus yet",
      },
      item.placeholder ?? "Menu",
    );
  return null;
}

function button(app, message, item) {
  const label = [emojiOf(app, item.emoji), item.label].filter(Boolean);
  const className = `button ${STYLES[item.style] ?? "secondary"}`;
  if (item.style === LINK) {
    return el(
      "a",
      {
        class: className,
        href: /^https?:/.test(item.url ?? "") ? item.url : "#",
        target: "_blank",
        rel: "noopener noreferrer",
      },
      label,
      icon("link", 16),
    );
  }
  const node = el(
    "button",
    {
      class: className,
      type: "button",
      disabled: Boolean(item.disabled),
      "aria-label": item.label ? null : "Button",
    },
    label,
  );
  node.addEventListener("click", () => press(app, message, item, node));
  return node;
}

function emojiOf(app, emoji) {
  if (!emoji) return null;
  return emoji.id ? customEmoji(emoji.name, emoji.id, app.people) : standardEmoji(emoji.name);
}

async function press(app, message, item, node) {
  node.classList.add("busy");
  node.setAttribute("aria-busy", "true");
  const body = { message: message.id, button: item.custom_id, user: app.store.me };
  await attempt(async () => app.answered(await app.api.post("press", body)));
  node.classList.remove("busy");
  node.removeAttribute("aria-busy");
}
