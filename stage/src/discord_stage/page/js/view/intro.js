// How a channel begins: its name, and some things to try.

import { el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";

const CLOSED = "stage.greeting.closed";

// `{bot}` becomes a mention. `/stage/prompts` has others, if whoever runs the bot gives them.
export const PROMPTS = [
  { title: "Say hello", text: "{bot} hello!" },
  { title: "Get help", text: "{bot} help" },
  { title: "Find out more", text: "{bot} what can you do?" },
];

export function channelIntro(app) {
  const channel = app.store.channels.get(app.store.channelId);
  if (!channel) return null;
  const name = app.people.titleOf(channel);
  const direct = !channel.guild_id;
  return el(
    "section",
    { class: "intro", "aria-label": "Beginning" },
    el(
      "div",
      { class: "intro-icon" },
      direct
        ? el("img", {
            class: "avatar",
            src: `/cdn/avatars/${app.store.world.bot.id}.svg`,
            alt: "",
            width: 80,
            height: 80,
          })
        : icon(channel.type >= 10 && channel.type <= 12 ? "thread" : "hash", 44),
    ),
    el("h2", {}, direct ? name : `Welcome to #${name}!`),
    el(
      "p",
      {},
      direct
        ? `This is the beginning of your direct messages with ${name}.`
        : `This is the start of the #${name} channel. ${channel.topic ?? ""}`,
    ),
    greeting(app),
  );
}

function greeting(app) {
  if (localStorage.getItem(CLOSED)) return null;
  const bot = app.people.nameOf(app.store.world.bot);
  const close = el(
    "button",
    { class: "icon-button", type: "button", "aria-label": "Close the greeting" },
    icon("close", 18),
  );
  const panel = el(
    "section",
    { class: "greeting", "aria-label": "Things to try" },
    el(
      "div",
      { class: "greeting-head" },
      icon("spark", 22),
      el(
        "div",
        {},
        el("h3", {}, `Say something to ${bot}`),
        app.greeting?.() ?? el("p", {}, "Everything here runs on your machine."),
      ),
      close,
    ),
    el(
      "div",
      { class: "prompts" },
      firstOf(app.prompts).map((prompt) => promptButton(app, prompt)),
    ),
  );
  close.addEventListener("click", () => {
    localStorage.setItem(CLOSED, "1");
    panel.remove();
  });
  return panel;
}

// Those for the first visit, if it is said which ones these are.
function firstOf(prompts) {
  return prompts.some((prompt) => prompt.first) ? prompts.filter((prompt) => prompt.first) : prompts;
}

function promptButton(app, prompt) {
  const shown = prompt.text.replaceAll("{bot}", "").trim();
  const button = el(
    "button",
    { class: "prompt", type: "button" },
    el("b", {}, prompt.title),
    el("span", { dir: "auto" }, shown),
  );
  button.addEventListener("click", () => app.tries.say(prompt));
  return button;
}

export function showGreeting() {
  localStorage.removeItem(CLOSED);
}

export async function loadPrompts(app) {
  if (!app.store.extensions.has("prompts")) return PROMPTS;
  return (await attempt(() => app.api.get("prompts"))) ?? PROMPTS;
}
