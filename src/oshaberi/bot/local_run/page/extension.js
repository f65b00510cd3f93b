// The bot's model on the stage's page: a button, a setting, a greeting that says who speaks.

import { clear, el } from "/page/js/dom.js";
import { attempt } from "/page/js/toast.js";
import { offerCards } from "./card_drop.js";
import { openConnect } from "./connect_model.js";
import { openGoLive } from "./go_live.js";
import { modelPanel } from "./model_panel.js";
import { ModelState } from "./model_state.js";
import { movePanel, offerArchives } from "./server_move.js";
import { openWindowPicture } from "./window_picture.js";

const STYLE = "/page/extensions/local_run/model.css";

export async function extend(page) {
  document.head.append(el("link", { rel: "stylesheet", href: STYLE }));
  const model = new ModelState(page.api);
  const connect = () => openConnect(model);
  const button = page.addHeadButton({ id: "connect-model", icon: "plug", label: "Connect a model", keepsWords: true, run: connect });
  const seen = page.addThingToTry({
    title: "Connect a model",
    text: "On your machine, at Anthropic, Google, NovelAI, OpenAI, OpenRouter or any address",
    run: connect,
  });
  if (page.actions.has("live")) {
    const live = () => attempt(() => openGoLive(model));
    page.addHeadButton({ id: "go-live", icon: "globe", label: "Put it on Discord", run: live });
    page.addThingToTry({ title: "Put it on Discord", text: "A token, an invitation, and it answers there", run: live });
  }
  if (page.actions.has("window")) {
    const run = () => attempt(() => openWindowPicture(page));
    page.addThingToTry({ title: "What the model reads", text: "A picture of its window: rules, persona, memories, history", run });
  }
  model.addEventListener("change", () => {
    if (model.isDemo) button.say("Connect a model");
    else {
      button.say(model.shortName, `${model.name}: connect another model`);
      seen.tick();
    }
  });
  page.addSetting(async () => ((await model.load()) ? modelPanel(model) : null));
  if (page.actions.has("move")) {
    page.addSetting(() => movePanel(page));
    offerArchives(page);
  }
  page.setGreeting(() => whoSpeaks(model, page.botName));
  offerCards(page);
  await model.load();
}

// In one sentence: what is played, what is real, and how to have more.
function whoSpeaks(model, bot) {
  const box = el("div", { class: "who-speaks" });
  const draw = () => {
    if (!model.now) return;
    const connect = el("button", { class: "button secondary", type: "button" }, "Connect a model");
    connect.addEventListener("click", () => openConnect(model));
    const said = model.isDemo
      ? `This is a small Discord on your own machine. What ${bot} says is scripted. How it is cut into messages, typed and sent is real.`
      : `${bot} speaks with ${model.name}, through the same delivery as on Discord.`;
    clear(box, el("p", {}, said), model.isDemo ? connect : null);
  };
  draw();
  const heard = () => (box.isConnected ? draw() : model.removeEventListener("change", heard));
  model.addEventListener("change", heard);
  return box;
}
