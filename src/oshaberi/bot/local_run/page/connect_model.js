// "Connect a model": where it is, which one, a test call, and the way back.

import { clear, counted, el, freshId } from "/page/js/dom.js";
import { openDialog } from "/page/js/view/dialog.js";
import { clearErrors, showError } from "/page/js/view/field_errors.js";

const KEPT = "oshaberi.connect";

export async function openConnect(model) {
  if (await model.load()) new ConnectPanel(model).open();
}

class ConnectPanel {
  // `state` says which model speaks; `model` is the field for another one's name.
  constructor(state) {
    this.state = state;
    this.found = new Map();
    this.now = el("div", { class: "connect-now" });
    this.status = el("p", { class: "connect-status", role: "status" });
    this.anyway = el(
      "button",
      { class: "button secondary", type: "button", hidden: true },
      "Use it anyway",
    );
    this.anyway.addEventListener("click", () => this.#guarded(() => this.#use()));
    this.cancel = el(
      "button",
      { class: "button secondary", type: "button", hidden: true },
      "Cancel the test",
    );
    this.cancel.addEventListener("click", () => this.state.api.post("model_test", { cancel: true }));
    this.#fields();
  }

  #fields() {
    this.address = field("Address", "base_url", { type: "text", inputmode: "url", placeholder: "localhost:8080" });
    this.key = field("Key (stays in this program's memory)", "key", { type: "password" });
    const models = freshId("models");
    this.model = field("Model", "model", { type: "text", list: models });
    this.names = el("datalist", { id: models });
    this.list = el("button", { class: "button secondary", type: "button" }, "List models");
    this.list.addEventListener("click", () => this.#guarded(() => this.#listModels()));
    this.model.row.append(
      el("div", { class: "beside" }, this.model.input, this.list),
      this.names,
    );
    this.address.input.addEventListener("input", () => this.#keyHint());
    for (const { input } of [this.address, this.model]) {
      input.addEventListener("change", () => keep(this.#given()));
    }
  }

  open() {
    const { sources } = this.state.now;
    this.choices = sources.map((source) => this.#choice(source));
    openDialog({
      title: "Connect a model",
      className: "connect",
      content: [
        this.now,
        el(
          "fieldset",
          { class: "sources" },
          el("legend", {}, "Where is it?"),
          this.choices.map((one) => one.row),
        ),
        this.address.row,
        this.key.row,
        this.model.row,
        this.status,
        this.cancel,
        this.anyway,
      ],
      submitLabel: "Test and use",
      cancelLabel: "Close",
      submit: () => this.#submit(),
    });
    this.form = this.now.closest("form");
    this.#showNow();
    const before = kept().use ?? sources[0].name;
    this.#choose(sources.find((source) => source.name === before) ?? sources[0]);
    this.#look();
  }

  #choice(source) {
    const input = el("input", { type: "radio", name: "source", value: source.name });
    const note = el("small", {}, source.is_local ? "looking…" : hint(source));
    input.addEventListener("change", () => {
      this.#choose(source);
      keep(this.#given());
    });
    return { source, input, note, row: el("label", { class: "model-source" }, input, el("span", {}, source.title, note)) };
  }

  // -- which one ---------------------------------------------------------------------------------

  #choose(source) {
    this.source = source;
    for (const one of this.choices) one.input.checked = one.source === source;
    const before = kept()[source.name] ?? {};
    const here = this.found.get(source.name);
    this.address.input.value = before.base_url || source.base_url;
    this.key.input.value = "";
    this.address.row.hidden = source.needs_key;
    this.key.row.hidden = source.is_local;
    this.model.input.value = before.model ?? here?.models[0] ?? "";
    this.#offer(here?.models ?? []);
    this.#keyHint();
    this.#say("");
    clearErrors(this.form);
    this.anyway.hidden = true;
  }

  #keyHint() {
    const known = this.state.now.keys_for?.includes(this.address.input.value.trim());
    this.key.input.placeholder = known ? "A key is known: leave this empty to use it" : "";
  }

  // What runs on this machine is offered by itself.
  async #look() {
    const found = (await this.state.api.get("model_servers").catch(() => [])) ?? [];
    for (const one of found) this.found.set(one.source, one);
    for (const { source, note } of this.choices) {
      const here = this.found.get(source.name);
      if (here) note.textContent = `found here: ${counted(here.models.length, "model")}`;
      else if (source.is_local) note.textContent = `not found at ${host(source.base_url)}`;
    }
    const here = this.found.get(this.source.name) ?? (kept().use ? null : found[0]);
    if (!here || this.model.input.value) return;
    this.#choose(this.choices.find((one) => one.source.name === here.source).source);
  }

  #offer(models) {
    clear(this.names, models.map((model) => el("option", { value: model })));
  }

  async #listModels() {
    this.#say("Asking for its models…");
    const models = await this.state.api.post("model_list", this.#given());
    this.#offer(models);
    if (!this.model.input.value && models.length === 1) this.model.input.value = models[0];
    this.#say(models.length ? `${counted(models.length, "model")}: choose one in the field above.` : "It lists no models.");
    this.model.input.focus();
  }

  #given() {
    return {
      use: this.source.name,
      base_url: this.address.input.value.trim(),
      key: this.source.is_local ? "" : this.key.input.value,
      model: this.model.input.value.trim(),
    };
  }

  // -- trying and using --------------------------------------------------------------------------

  async #submit() {
    this.anyway.hidden = true;
    keep(this.#given());
    const endCount = this.#count();
    try {
      const { text, after_s, base_url } = await this.state.api.post("model_test", this.#given());
      const said = text ? `It answered “${text}”` : "It is still thinking, so it works,";
      await this.#use(`${this.#completed(base_url)}${said} after ${after_s.toFixed(1)} s. `);
    } catch (error) {
      this.#say("");
      this.anyway.hidden = !this.model.input.value;
      throw error;
    } finally {
      endCount();
    }
    return false;
  }

  // The seconds of the test, with a way to end it.
  #count() {
    const began = performance.now();
    const tell = () => this.#say(`Asking it to say hello… ${Math.round((performance.now() - began) / 1000)} s`);
    tell();
    const ticking = setInterval(tell, 1000);
    const closed = () => this.state.api.post("model_test", { cancel: true }).catch(() => {});
    const dialog = this.form.closest("dialog");
    dialog.addEventListener("close", closed);
    this.cancel.hidden = false;
    return () => {
      clearInterval(ticking);
      dialog.removeEventListener("close", closed);
      this.cancel.hidden = true;
    };
  }

  // What was added to the address is shown in its field, and said.
  #completed(address) {
    const { input, row } = this.address;
    if (!address || row.hidden || address === input.value.trim()) return "";
    input.value = address;
    return `The address is ${address}. `;
  }

  async #use(said = "") {
    const given = this.#given();
    const fresh = await this.state.change(given);
    keep(given);
    this.anyway.hidden = true;
    this.#showNow();
    this.key.input.value = "";
    this.#keyHint();
    const told = "answers from now on. It starts afresh: what was said before is not shown to it.";
    this.#say(fresh.overridden_by ? said : `${said}${fresh.model} ${told}`, "good");
  }

  #showNow() {
    const { now, isDemo, name } = this.state;
    const back = (use, words) =>
      el(
        "button",
        { class: "button secondary", type: "button", on: { click: () => this.#guarded(() => this.#back(use)) } },
        words,
      );
    clear(
      this.now,
      el("p", { class: "now" }, "Now: ", el("b", {}, name)),
      now.configured && now.kind !== "configured" ? back("configured", `Back to ${now.configured}, from the settings`) : null,
      isDemo || now.kind === "demo" ? null : back("demo", "Back to the demo model"),
      now.overridden_by
        ? el("p", { class: "field-error" }, "This server has chosen its model with /model set. Run /model reset, and what is chosen here answers.")
        : null,
    );
  }

  async #back(use) {
    await this.state.change({ use });
    this.#showNow();
    this.#say(this.state.now.overridden_by ? "" : `${this.state.name} answers from now on.`, "good");
  }

  async #guarded(work) {
    clearErrors(this.form);
    try {
      await work();
    } catch (error) {
      if (error.status === undefined) throw error;
      this.#say("");
      showError(this.form, error);
    }
  }

  #say(words, kind = "") {
    this.status.textContent = words;
    this.status.className = `connect-status ${kind}`;
    if (words) (this.cancel.hidden ? this.status : this.cancel).scrollIntoView({ block: "nearest" });
  }
}

function field(label, name, props) {
  const id = freshId("connect");
  const input = el("input", { id, autocomplete: "off", spellcheck: false, data: { field: name }, ...props });
  return { input, row: el("div", { class: "field" }, el("label", { for: id }, label), input) };
}

const HINTS = { "openai-compatible": "OpenAI-compatible", responses: "OpenAI's newer API" };
const hint = (source) => HINTS[source.name] ?? "with a key";

function host(url) {
  return URL.canParse(url) ? new URL(url).host : url;
}

// The addresses and models that were used, never a key.
function kept() {
  try {
    return JSON.parse(localStorage.getItem(KEPT)) ?? {};
  } catch {
    return {};
  }
}

function keep({ use, base_url, model }) {
  localStorage.setItem(KEPT, JSON.stringify({ ...kept(), use, [use]: { base_url, model } }));
}
