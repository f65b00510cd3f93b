// "Put it on Discord": a token, what Discord says of it, the invitation, and the start.

import { clear, counted, el, freshId } from "/page/js/dom.js";
import { openDialog } from "/page/js/view/dialog.js";
import { openConnect } from "./connect_model.js";

const SVG = "http://www.w3.org/2000/svg";
const PORTAL = "https://discord.com/developers/applications";

export async function openGoLive(model) {
  const now = await model.api.get("live");
  new GoLive(model, now).open();
}

class GoLive {
  constructor(model, now) {
    this.model = model;
    this.now = now;
    this.account = null;
    this.found = el("div", { class: "live-found" });
    this.status = el("p", { class: "connect-status", role: "status" });
    this.token = field("Token of the bot", "token", { type: "password" });
    this.persona = field("Name of its persona", "persona", { type: "text", maxlength: "80" });
    this.token.input.addEventListener("input", () => this.#forget());
  }

  open() {
    if (this.now.state === "running" || this.now.state === "starting") {
      openDialog({ title: "Put it on Discord", content: [this.#running()] });
      return;
    }
    openDialog({
      title: "Put it on Discord",
      className: "connect",
      content: [
        el(
          "p",
          {},
          "Make an application in the ",
          link(PORTAL, "Developer Portal"),
          ", open its page Bot, press Reset Token, and paste the token here.",
        ),
        this.token.row,
        this.found,
        this.status,
      ],
      submitLabel: "Check the token",
      cancelLabel: "Close",
      submit: () => this.#submit(),
    });
    this.form = this.status.closest("form");
    this.button = this.form.querySelector("[type=submit]");
    if (this.now.why) this.#say(`It ended: ${this.now.why}`);
  }

  async #submit() {
    if (this.account === null) await this.#check();
    else await this.#start();
    return false;
  }

  #forget() {
    this.account = null;
    this.button.textContent = "Check the token";
    clear(this.found);
  }

  async #check() {
    this.#say("Asking Discord…");
    try {
      this.now = await this.model.api.post("live", { token: this.token.input.value });
    } finally {
      this.#say("");
    }
    this.account = this.now.account;
    this.persona.input.value ||= this.account.name;
    this.button.textContent = "Start it on Discord";
    this.#show();
  }

  #show() {
    const { name, servers, ailing, intents_link: off, invitation, code } = this.account;
    clear(
      this.found,
      el("p", {}, "✓ This is ", el("b", {}, name), `, in ${counted(servers, "server")}.`),
      off
        ? el("p", { class: "field-error" }, "✗ Message Content is off, so it could not read what people write: ", link(off, "switch it on"), ", then check again.")
        : el("p", {}, "✓ Message Content is on."),
      servers ? permissions(ailing) : null,
      el(
        "div",
        { class: "live-invitation" },
        el("p", {}, link(invitation, `Invite ${name} to a server`), " with the permissions that it uses. With a phone:"),
        code ? picture(code, `QR code of the invitation of ${name}`) : null,
      ),
      this.#modelLine(),
      this.persona.row,
      el("p", { class: "live-files" }, `Writes ${this.now.file}, and oshaberi.env beside it, which only you can read.`),
    );
  }

  #modelLine() {
    const choose = el("button", { class: "button secondary", type: "button" }, "Connect a model");
    choose.addEventListener("click", () => {
      this.form.closest("dialog").close();
      openConnect(this.model);
    });
    const { model } = this.now;
    const words = model ? ["✓ It answers with ", el("b", {}, model), "."] : ["✗ It has no model yet: the demo model stays here. "];
    return el("div", { class: "field", data: { field: "model" }, tabindex: "-1" }, el("p", {}, words), model ? null : choose);
  }

  async #start() {
    this.#say("Starting it…");
    const given = { token: this.token.input.value, persona: this.persona.input.value.trim(), start: true };
    try {
      this.now = await this.model.api.post("live", given);
    } catch (error) {
      this.#say("");
      throw error;
    }
    if (this.now.state !== "running") {
      this.#say(`It could not start: ${this.now.why}`);
      return;
    }
    this.token.input.value = "";
    this.button.hidden = true;
    clear(this.found, this.#running());
    this.token.row.hidden = true;
    this.#say("");
  }

  #running() {
    return el(
      "p",
      { class: "connect-status good" },
      el("b", {}, this.now.name),
      " is on Discord, as long as this program runs. This page stays beside it. Next time, `oshaberi run` starts it there.",
    );
  }

  #say(words) {
    this.status.textContent = words;
  }
}

function field(label, name, props) {
  const id = freshId("live");
  const input = el("input", { id, autocomplete: "off", spellcheck: false, data: { field: name }, ...props });
  return { input, row: el("div", { class: "field" }, el("label", { for: id }, label), input) };
}

// What its roles do not allow it in the servers that it is in already.
function permissions(ailing) {
  if (!ailing.length) return el("p", {}, "✓ It has all permissions that it uses there.");
  const named = (one) => [
    el("b", {}, one.name),
    one.needed.length ? `: it cannot answer without ${one.needed.join(", ")}.` : `: it works, but without ${one.wanted.join(", ")}.`,
  ];
  return [
    el("p", {}, ailing.some((one) => one.needed.length) ? "✗" : "–", " It lacks permissions. Give them to its role, or invite it again:"),
    el("ul", { class: "live-servers" }, ailing.map((one) => el("li", {}, named(one)))),
  ];
}

const link = (href, words) => el("a", { href, target: "_blank", rel: "noreferrer" }, words);

function picture({ width, path }, words) {
  const node = document.createElementNS(SVG, "svg");
  for (const [name, value] of Object.entries({ viewBox: `0 0 ${width} ${width}`, role: "img", "aria-label": words }))
    node.setAttribute(name, value);
  const squares = document.createElementNS(SVG, "path");
  squares.setAttribute("d", path);
  node.append(squares);
  return node;
}
