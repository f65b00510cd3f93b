// The model in the settings: which one speaks, how fast the demo model is, and the way to another.

import { clear, el, freshId } from "/page/js/dom.js";
import { attempt, toast } from "/page/js/toast.js";
import { openConnect } from "./connect_model.js";

export function modelPanel(model) {
  const now = el("p", { class: "now" });
  const draw = () => clear(now, "Now: ", el("b", {}, model.name));
  draw();
  const connect = el("button", { class: "button primary", type: "button" }, "Connect a model…");
  connect.addEventListener("click", () => {
    connect.closest("dialog").close();
    openConnect(model);
  });
  return el(
    "fieldset",
    { class: "model" },
    el("legend", {}, "Model"),
    now,
    speed(model),
    el("div", { class: "field" }, connect),
  );
}

function speed(model) {
  const { now } = model;
  if (typeof now.speed !== "number" || !model.isDemo) return null;
  const id = freshId("speed");
  const shown = el("output", { for: id }, `×${now.speed}`);
  const slider = el("input", {
    id,
    type: "range",
    min: "-3",
    max: "4",
    step: "0.5",
    "aria-valuetext": `${now.speed} times`,
  });
  slider.value = String(Math.log2(now.speed));
  const value = () => Math.round(2 ** Number(slider.value) * 100) / 100;
  slider.addEventListener("input", () => {
    shown.textContent = `×${value()}`;
    slider.setAttribute("aria-valuetext", `${value()} times`);
  });
  slider.addEventListener("change", () =>
    attempt(async () => {
      await model.change({ speed: value() });
      toast(`Speed ×${value()}`);
    }),
  );
  const label = el("label", { for: id }, "Speed of the demo model ", shown);
  return el("div", { class: "field" }, label, slider);
}
