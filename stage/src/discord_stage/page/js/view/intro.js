// How a channel begins: its name, and six things to try.

import { clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";
import { openConnect } from "./connect_model.js";

const CLOSED = "oshaberi.greeting.closed";

// `{bot}` becomes a mention. `/stage/prompts` has others, if whoever runs the bot gives them.
export const PROMPTS = [
  { title: "A table", text: "{bot} show me a table of the planets" },
  { title: "Long code", text: "{bot} write some python code" },
  { title: "Thinking", text: "{bot} think hard: how many weighings find the odd coin?" },
  { title: "Faces", text: "{bot} act out a little scene with your sprites" },
  { title: "Emoji and 日本語", text: "{bot} 日本語で自己紹介して、emoji も使って" },
  { title: "A story, stopped", text: "{bot} tell me a long story (then press Stop)" },
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
        whoSpeaks(app, bot),
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

// In one sentence: what is played, what is real, and how to have more.
function whoSpeaks(app, bot) {
  const box = el("div", { class: "who-speaks" });
  const draw = () => {
    if (!app.model.now) {
      clear(box, el("p", {}, "Everything here runs on your machine. Each of these shows one thing it can do:"));
      return;
    }
    const connect = el("button", { class: "button secondary", type: "button" }, "Connect a model");
    connect.addEventListener("click", () => openConnect(app));
    const said = app.model.isDemo
      ? `This is a small Discord on your own machine. What ${bot} says is scripted. How it is cut into messages, typed and sent is real.`
      : `${bot} speaks with ${app.model.name}, through the same delivery as on Discord.`;
    clear(box, el("p", {}, said), app.model.isDemo ? connect : null);
  };
  draw();
  const heard = () => (box.isConnected ? draw() : app.bus.removeEventListener("model", heard));
  app.bus.addEventListener("model", heard);
  return box;
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
