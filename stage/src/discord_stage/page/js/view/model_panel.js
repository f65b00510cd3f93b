// The model in the settings: which one speaks, how fast the demo model is, and the way to another.

import { clear, el, freshId } from "../dom.js";
import { attempt, toast } from "../toast.js";
import { openConnect } from "./connect_model.js";

export function modelPanel(app) {
  const now = el("p", { class: "now" });
  const draw = () => clear(now, "Now: ", el("b", {}, app.model.name));
  draw();
  const connect = el("button", { class: "button primary", type: "button" }, "Connect a model…");
  connect.addEventListener("click", () => {
    connect.closest("dialog").close();
    openConnect(app);
  });
  return el(
    "fieldset",
    { class: "model" },
    el("legend", {}, "Model"),
    now,
    speed(app),
    el("div", { class: "field" }, connect),
  );
}

function speed(app) {
  const { now } = app.model;
  if (typeof now.speed !== "number" || !app.model.isDemo) return null;
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
      await app.model.change({ speed: value() });
      toast(`Speed ×${value()}`);
    }),
  );
  const label = el("label", { for: id }, "Speed of the demo model ", shown);
  return el("div", { class: "field" }, label, slider);
}
