// "What the model reads": the parts of a request as a picture of the model's window.

import { clear, el, freshId } from "/page/js/dom.js";
import { openDialog } from "/page/js/view/dialog.js";

const QUESTION = "What do you remember about me?";

export async function openWindowPicture(page) {
  const personas = await page.api.get("window", { channel: page.channelId ?? "" });
  const ids = { persona: freshId("window"), question: freshId("window") };
  const persona = el(
    "select",
    { id: ids.persona },
    personas.map((name) => el("option", { value: name }, name)),
  );
  const question = el("input", { id: ids.question, type: "text", maxlength: "2000", value: QUESTION, autocomplete: "off", data: { field: "question" } });
  const found = el("div", { class: "window-found", role: "status" });
  const draw = async () => {
    const asked = { persona: persona.value, question: question.value, channel: page.channelId };
    clear(found, picture(persona.value, await page.api.post("window", asked)));
    return false;
  };
  openDialog({
    title: "What the model reads",
    className: "window",
    content: [
      el("p", {}, "If you asked this here now. Nothing is sent to a model."),
      el(
        "div",
        { class: "window-asked" },
        el("div", { class: "field" }, el("label", { for: ids.persona }, "Persona"), persona),
        el("div", { class: "field" }, el("label", { for: ids.question }, "Question"), question),
      ),
      found,
    ],
    submitLabel: "Show",
    cancelLabel: "Close",
    submit: draw,
  });
  await draw();
}

function picture(name, { model, window: room, total, parts, left_out: leftOut, lost_tools: lostTools }) {
  const whole = Math.max(room ?? total, total, 1);
  const left = room === null ? 0 : room - total;
  const share = (tokens) => `${((100 * tokens) / whole).toFixed(3)}%`;
  const sum = room === null ? `${name} would read about ${count(total)}.` : `${name} would read about ${count(total)} of ${count(room)}.`;
  const bar = el(
    "div",
    { class: "window-bar", role: "img", "aria-label": `${sum} ${parts.map((one) => `${one.name}: ${count(one.tokens)}`).join(", ")}` },
    parts.map((one) => piece(one.tag, share(one.tokens), `${one.name}: ${count(one.tokens)}`)),
    left > 0 ? piece("free", share(left), `free: ${count(left)}`) : null,
  );
  return [
    el("p", { class: "window-sum" }, sum, left < 0 ? " That is too much: the model cannot be asked." : ""),
    el("ul", { class: "window-lost" }, lost(leftOut, lostTools).map((words) => el("li", {}, words))),
    bar,
    parts.length ? closeUp(parts, total, whole) : null,
    el("ul", { class: "window-parts" }, parts.map((one) => row(one, whole)), left > 0 ? freeRow(left, whole) : null),
    el("p", { class: "window-note" }, [model ? `For ${model}.` : "No model can be asked here now.", room === null ? "It is not known how large its window is, so the bar shows the request alone." : "The answer needs room too."].join(" ")),
  ];
}

function lost(messages, tools) {
  const words = [];
  if (messages) words.push(`There is no room for ${messages} older ${messages === 1 ? "message" : "messages"}.`);
  if (tools) words.push("There is no room for the tools.");
  return words;
}

// A request that is small in a large window would be a few dots: its parts once more, by themselves.
function closeUp(parts, total, whole) {
  if (total > whole / 3) return null;
  return el(
    "div",
    { class: "window-close-up", "aria-hidden": "true" },
    el("span", {}, "The same, larger:"),
    el("div", { class: "window-bar" }, parts.map((one) => piece(one.tag, `${((100 * one.tokens) / Math.max(total, 1)).toFixed(3)}%`, `${one.name}: ${count(one.tokens)}`))),
  );
}

function piece(tag, width, title) {
  return el("span", { class: "window-piece", data: { tag }, style: { width }, title });
}

function row({ tag, name, tokens, text }, whole) {
  return el(
    "li",
    {},
    el(
      "details",
      {},
      el("summary", {}, swatch(tag), el("span", { class: "window-name" }, name), numbers(tokens, whole)),
      el("pre", { tabindex: "0", "aria-label": `Text of ${name}` }, text),
    ),
  );
}

function freeRow(left, whole) {
  return el("li", { class: "window-free" }, swatch("free"), el("span", { class: "window-name" }, "free"), numbers(left, whole));
}

const swatch = (tag) => el("span", { class: "window-piece", data: { tag } });

function numbers(tokens, whole) {
  const percent = (100 * tokens) / whole;
  const shown = percent < 1 ? "< 1 %" : `${Math.round(percent)} %`;
  return el("span", { class: "window-numbers" }, `${tokens.toLocaleString("en")} `, el("small", {}, shown));
}

const count = (tokens) => `${tokens.toLocaleString("en")} ${tokens === 1 ? "token" : "tokens"}`;
