// Which model speaks, and how fast. Talks to `/stage/model`, which whoever runs the bot provides.

import { el, freshId } from "../dom.js";
import { attempt, toast } from "../toast.js";

const NAMES = {
  demo: "Demo model (plays written scenes)",
  ollama: "My Ollama",
  "openai-compatible": "My own key",
};

export function modelPanel(app, state) {
  const box = el("fieldset", { class: "model" }, el("legend", {}, "Model"));
  const change = async (body, said) => {
    const fresh = await attempt(() => app.api.post("model", body));
    if (fresh === null) return;
    toast(said);
    Object.assign(state, fresh ?? {});
    // Whoever holds the slider keeps it.
    if ("use" in body) draw();
  };
  const draw = () =>
    box.replaceChildren(
      el("legend", {}, "Model"),
      now(state),
      ...speed(state, change),
      ...offers(state, change),
    );
  draw();
  return box;
}

function now(state) {
  const detail = state.model ? ` — ${state.model}` : "";
  return el(
    "p",
    { class: "now" },
    "Now: ",
    el("b", {}, `${NAMES[state.kind] ?? state.kind}${detail}`),
  );
}

function speed(state, change) {
  if (typeof state.speed !== "number") return [];
  const id = freshId("speed");
  const shown = el("output", { for: id }, `×${state.speed}`);
  const slider = el("input", {
    id,
    type: "range",
    min: "-3",
    max: "4",
    step: "0.5",
    "aria-valuetext": `${state.speed} times`,
  });
  slider.value = String(Math.log2(state.speed));
  const value = () => Math.round(2 ** Number(slider.value) * 100) / 100;
  slider.addEventListener("input", () => {
    shown.textContent = `×${value()}`;
    slider.setAttribute("aria-valuetext", `${value()} times`);
  });
  slider.addEventListener("change", () => change({ speed: value() }, `Speed ×${value()}`));
  return [
    el("div", { class: "field" }, el("label", { for: id }, "Speed of the tokens ", shown), slider),
  ];
}

function offers(state, change) {
  return [
    state.kind === "demo" ? null : demo(change),
    state.ollama?.length ? ollama(state, change) : null,
    own(change),
  ].filter(Boolean);
}

function demo(change) {
  return el(
    "div",
    { class: "field" },
    el(
      "button",
      {
        class: "button secondary",
        type: "button",
        on: { click: () => change({ use: "demo" }, "The demo model speaks") },
      },
      "Back to the demo model",
    ),
  );
}

function ollama(state, change) {
  const id = freshId("ollama");
  const choice = el(
    "select",
    { id },
    state.ollama.map((model) => el("option", { value: model }, model)),
  );
  const use = el(
    "button",
    {
      class: "button primary",
      type: "button",
      on: { click: () => change({ use: "ollama", model: choice.value }, `${choice.value} speaks`) },
    },
    "Use it",
  );
  return el(
    "div",
    { class: "field" },
    el("label", { for: id }, "Ollama is running on this machine"),
    el("div", { class: "beside" }, choice, use),
  );
}

function own(change) {
  const field = (label, props) => {
    const id = freshId("model");
    const input = el("input", { id, autocomplete: "off", spellcheck: false, ...props });
    return { input, row: el("div", { class: "field" }, el("label", { for: id }, label), input) };
  };
  const url = field("Address (OpenAI-compatible)", { type: "url", placeholder: "https://…/v1" });
  const model = field("Model", { type: "text" });
  const key = field("Key (stays on this machine)", { type: "password" });
  const use = el("button", { class: "button primary", type: "button" }, "Use it");
  use.addEventListener("click", () => {
    if (!url.input.value || !model.input.value) {
      toast("An address and a model are needed.", "error");
      return;
    }
    change(
      {
        use: "openai-compatible",
        base_url: url.input.value,
        model: model.input.value,
        key: key.input.value,
      },
      `${model.input.value} speaks`,
    );
  });
  return el("details", {}, el("summary", {}, "Use my own key"), url.row, model.row, key.row, use);
}
