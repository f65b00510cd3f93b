// Settings: look, what extensions have added, and the keys to press.

import { el, freshId } from "../dom.js";
import { chooseTheme, themeChoice } from "../theme.js";
import { toast } from "../toast.js";
import { openDialog } from "./dialog.js";

const KEYS = [
  ["Enter / Shift+Enter", "Send / new line; in an open code block both are a new line"],
  ["↑ in an empty box", "Edit your last message"],
  ["/", "Commands"],
  ["@ # :", "People, channels, emoji"],
  ["Enter or Tab", "Take the suggestion that is marked; ↑ ↓ mark another"],
  ["Shift+Tab to a message, then ↑ ↓", "Go through the messages"],
  ["R · + · C", "On a message: reply, react, copy"],
  ["E · Delete", "On a message of your own: edit, delete"],
  ["Enter on a message", "All its actions"],
  ["Alt+↑ / Alt+↓", "Other channel"],
  ["Escape", "Close what is open; from a message to the box, from there to the newest message"],
];

export async function openSettings(app) {
  const added = await Promise.all(app.settings.map((make) => make()));
  openDialog({
    title: "Settings",
    className: "settings",
    content: [look(), ...added, greetingAgain(app), keys(app)].filter(Boolean),
  });
}

function look() {
  const name = freshId("theme");
  const radio = (value, label) => {
    const input = el("input", {
      type: "radio",
      name,
      value,
      checked: themeChoice() === value,
      on: { change: () => chooseTheme(value) },
    });
    return el("label", { class: "choice" }, input, label);
  };
  return el(
    "fieldset",
    {},
    el("legend", {}, "Look"),
    radio("system", "As the system"),
    radio("dark", "Dark"),
    radio("light", "Light"),
  );
}

function greetingAgain(app) {
  const again = el(
    "button",
    { class: "button secondary", type: "button" },
    "Show the greeting again",
  );
  again.addEventListener("click", () => {
    app.showGreeting();
    toast("It stands at the beginning of the channel.");
  });
  return el("div", { class: "field" }, again);
}

function keys(app) {
  const added = app.messageActions
    .filter(({ key }) => key)
    .map(({ key, label }) => [key.toUpperCase(), `On a message: ${label}`]);
  const rows = [...KEYS, ...added].map(([key, what]) => [el("dt", {}, key), el("dd", {}, what)]);
  return el("section", { class: "keys" }, el("h3", {}, "Keyboard"), el("dl", {}, rows));
}
