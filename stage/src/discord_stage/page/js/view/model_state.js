// Which model speaks: what `/stage/model` says, for everything on the page that shows it.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { attempt } from "../toast.js";

export class ModelState {
  constructor(app) {
    this.app = app;
    this.now = null;
    this.button = byId("connect-model");
  }

  // Null if whoever runs the bot does not offer it.
  async load() {
    if (!this.app.store.extensions.has("model")) return null;
    const found = await attempt(() => this.app.api.get("model"));
    if (found) this.set(found);
    return found;
  }

  async change(body) {
    const fresh = await this.app.api.post("model", body);
    this.set(fresh);
    return fresh;
  }

  set(fresh) {
    this.now = fresh;
    this.button.hidden = false;
    const said = this.isDemo ? "Connect a model" : (fresh.overridden_by ?? fresh.model);
    clear(this.button, icon("plug", 20), el("span", { class: "head-words" }, said));
    this.button.title = this.isDemo ? said : `${this.name}: connect another model`;
    this.app.bus.dispatchEvent(new Event("model"));
  }

  get isDemo() {
    return this.now?.kind === "demo" && !this.now.overridden_by;
  }

  // As whoever reads the page calls it.
  get name() {
    const { kind, model, sources, overridden_by: other } = this.now;
    if (other) return `${other} · chosen with /model set`;
    if (kind === "demo") return "Demo model (plays written scenes)";
    const title = sources?.find((source) => source.name === kind)?.title;
    return [model, title ?? (kind === "configured" ? "from the settings" : kind)]
      .filter(Boolean)
      .join(" · ");
  }
}
