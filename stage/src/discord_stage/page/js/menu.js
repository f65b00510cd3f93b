// A menu that floats beside what opened it: arrows move, Escape closes, focus returns.

import { el } from "./dom.js";
import { icon } from "./icons.js";

const MARGIN = 8;
let open = null;

export function closeMenu() {
  const closing = open;
  open = null;
  if (!closing) return;
  closing.box.remove();
  closing.opener?.setAttribute("aria-expanded", "false");
}

// entries: {label, icon, run, danger, hint} or null for a line between.
export function openMenu(opener, entries, { label, at = null } = {}) {
  if (open?.opener === opener && !at) {
    closeMenu();
    return;
  }
  closeMenu();
  const box = el(
    "div",
    { class: "menu", role: "menu", "aria-label": label },
    entries.map((entry) => item(entry, opener)),
  );
  show(box, opener, at);
  box.addEventListener("keydown", (event) => move(event, box, opener));
  box.querySelector("[role=menuitem]")?.focus();
}

// Anything else that floats; `role` and focus are its own matter.
export function openPopover(opener, box) {
  if (open?.opener === opener) {
    closeMenu();
    return false;
  }
  closeMenu();
  show(box, opener, null);
  box.addEventListener("keydown", (event) => {
    if (event.key === "Escape") leave(event, opener);
  });
  return true;
}

function item(entry, opener) {
  if (!entry) return el("div", { class: "menu-line", role: "separator" });
  const run = () => {
    closeMenu();
    opener?.focus();
    entry.run();
  };
  return el(
    "button",
    {
      role: "menuitem",
      type: "button",
      tabindex: "-1",
      class: entry.danger ? "danger" : null,
      on: { click: run },
    },
    el(
      "span",
      { class: "menu-label" },
      entry.label,
      entry.hint ? el("small", {}, entry.hint) : null,
    ),
    entry.icon ? icon(entry.icon, 18) : null,
  );
}

function show(box, opener, at) {
  // Inside an open dialog it has to be above that dialog; elsewhere it stays in its landmark.
  const around = opener?.closest("dialog") ?? opener?.closest("main, nav, aside");
  (around ?? document.body).append(box);
  opener?.setAttribute("aria-expanded", "true");
  place(box, at ?? opener.getBoundingClientRect());
  open = { box, opener };
}

function place(box, near) {
  const { width, height } = box.getBoundingClientRect();
  const right = near.right ?? near.left;
  const below = (near.bottom ?? near.top) + 4;
  const top =
    below + height > innerHeight - MARGIN ? Math.max(MARGIN, near.top - height - 4) : below;
  const left = Math.min(Math.max(MARGIN, right - width), innerWidth - width - MARGIN);
  box.style.top = `${top}px`;
  box.style.left = `${left}px`;
}

function leave(event, opener) {
  event.stopPropagation();
  event.preventDefault();
  closeMenu();
  opener?.focus();
}

function move(event, box, opener) {
  const items = [...box.querySelectorAll("[role=menuitem]")];
  const at = items.indexOf(document.activeElement);
  const to = { ArrowDown: at + 1, ArrowUp: at - 1, Home: 0, End: items.length - 1 }[event.key];
  if (to !== undefined) {
    event.preventDefault();
    items.at(to % items.length).focus();
  } else if (event.key === "Escape" || event.key === "Tab") leave(event, opener);
}

document.addEventListener("pointerdown", (event) => {
  if (open && !open.box.contains(event.target) && !open.opener?.contains(event.target)) closeMenu();
});
