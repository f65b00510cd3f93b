// A grid of emoji. Arrows move, Enter picks, typing searches.

import { el } from "../dom.js";
import { EMOJI_GROUPS } from "../emoji_table.js";
import { customEmoji, standardEmoji } from "../markdown/render.js";
import { closeMenu, openPopover } from "../menu.js";

const COLUMNS = 8;

// run(emoji, asText): the character, or a custom one's name and how it is written.
export function pickEmoji(app, opener, run) {
  const groups = [
    {
      title: app.store.guild?.name ?? "Custom",
      emoji: app.people.customEmoji.map((e) => ({ ...e, custom: true })),
    },
    ...EMOJI_GROUPS,
  ];
  const search = el("input", {
    type: "search",
    placeholder: "Find an emoji",
    "aria-label": "Find an emoji",
  });
  const grid = el("div", { class: "emoji-grid", role: "listbox", "aria-label": "Emoji" });
  const box = el(
    "div",
    { class: "popover emoji-picker", role: "dialog", "aria-label": "Pick an emoji" },
    search,
    grid,
  );
  const pick = (emoji) => {
    closeMenu();
    opener.focus();
    if (emoji.custom) run(emoji.name, `:${emoji.name}:`);
    else run(emoji.sign, emoji.sign);
  };
  const draw = () => {
    const wanted = search.value.trim().toLowerCase();
    const shown = groups.map((group) => ({
      ...group,
      emoji: group.emoji.filter((emoji) => emoji.name.toLowerCase().includes(wanted)),
    }));
    grid.replaceChildren(
      ...shown.filter((group) => group.emoji.length).map((group) => section(app, group, pick)),
    );
    // One is in the tab order; arrows lead to the others.
    grid.querySelector("[role=option]")?.setAttribute("tabindex", "0");
  };
  search.addEventListener("input", draw);
  box.addEventListener("keydown", (event) => move(event, box, search));
  draw();
  if (openPopover(opener, box)) search.focus();
}

function section(app, group, pick) {
  const options = group.emoji.map((emoji) => {
    const picture = emoji.custom
      ? customEmoji(emoji.name, emoji.id, app.people)
      : standardEmoji(emoji.sign);
    return el(
      "button",
      {
        role: "option",
        type: "button",
        tabindex: "-1",
        "aria-selected": "false",
        "aria-label": emoji.name,
        title: `:${emoji.name}:`,
        on: { click: () => pick(emoji) },
      },
      picture,
    );
  });
  return el(
    "div",
    { role: "group", "aria-label": group.title },
    el("div", { class: "emoji-title", "aria-hidden": "true" }, group.title),
    el("div", { class: "emoji-row" }, options),
  );
}

function move(event, box, search) {
  const options = [...box.querySelectorAll("[role=option]")];
  const at = options.indexOf(document.activeElement);
  if (event.key === "Enter" && document.activeElement === search) {
    event.preventDefault();
    options[0]?.click();
    return;
  }
  const step = { ArrowRight: 1, ArrowLeft: -1, ArrowDown: at < 0 ? 1 : COLUMNS, ArrowUp: -COLUMNS }[
    event.key
  ];
  if (step === undefined || (document.activeElement === search && event.key !== "ArrowDown"))
    return;
  event.preventDefault();
  const to = at + step;
  if (to < 0) search.focus();
  else options[Math.min(to, options.length - 1)]?.focus();
}
