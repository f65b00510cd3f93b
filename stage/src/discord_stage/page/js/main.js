// Starts the page: token, world, feed; says so when one of them is missing.

import { App } from "./app.js";
import { byId, el } from "./dom.js";
import { Router } from "./router.js";
import { Shell } from "./shell.js";
import { applyTheme } from "./theme.js";
import { keepRelativeTimes } from "./times.js";

const RETRY_MS = 1000;

applyTheme();
const app = new App();
app.build();
const shell = new Shell(app);
const router = new Router(app);
app.go = (path) => router.go(path);
keepRelativeTimes(byId("log"));

app.feed.addEventListener("lost", () => shell.disconnected());
app.feed.addEventListener("refused", () => gate());
app.feed.addEventListener("connected", (event) => connected(event.detail.resumed));

let started = false;

async function connected(resumed) {
  try {
    if (!resumed) await app.store.reload();
    if (!started) await start();
  } catch (error) {
    // Gone again already: the feed notices it too, and comes back here.
    if (error.status === 401) gate();
    else if (error.status === undefined) throw error;
    return;
  }
  shell.connected();
}

async function start() {
  started = true;
  await app.prepare();
  byId("app").hidden = false;
  await router.start();
}

async function boot() {
  if (!app.api.token) {
    gate();
    return;
  }
  try {
    await app.store.loadWorld();
  } catch (error) {
    if (error.status === 401) gate();
    else if (error.status === 0) {
      shell.disconnected();
      setTimeout(boot, RETRY_MS);
    } else throw error;
    return;
  }
  app.feed.open(app.store.me);
}

function gate() {
  byId("app").hidden = true;
  byId("banner").hidden = true;
  const box = byId("gate");
  box.replaceChildren(
    el("img", { src: "/page/icon.svg", alt: "", width: 96, height: 96 }),
    el("h1", {}, "The door is closed"),
    el("p", {}, "This page opens with the whole address that the program printed when it started:"),
    el("code", {}, `${location.origin}/?token=…`),
    el("p", {}, "Paste it here, or only the token at its end. After a restart the old one may not fit any more."),
    keyhole(),
  );
  box.hidden = false;
}

function keyhole() {
  const input = el("input", { id: "gate-token", type: "text", autocomplete: "off", spellcheck: false, required: true });
  const open = el("button", { class: "button primary", type: "submit" }, "Open");
  const form = el(
    "form",
    {},
    el("label", { for: "gate-token" }, "Address or token"),
    el("div", { class: "beside" }, input, open),
  );
  form.addEventListener("submit", (event) => {
    event.preventDefault();
    const given = input.value.trim();
    const token = URL.canParse(given) ? new URL(given).searchParams.get("token") : given;
    location.assign(`/?token=${encodeURIComponent(token ?? "")}`);
  });
  return form;
}

boot();
