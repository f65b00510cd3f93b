// Which model speaks: what `/stage/model` says, for everything on the page that shows it.

import { attempt } from "/page/js/toast.js";

export class ModelState extends EventTarget {
  constructor(api) {
    super();
    this.api = api;
    this.now = null;
  }

  async load() {
    const found = await attempt(() => this.api.get("model"));
    if (found) this.#set(found);
    return found;
  }

  async change(body) {
    const fresh = await this.api.post("model", body);
    this.#set(fresh);
    return fresh;
  }

  #set(fresh) {
    this.now = fresh;
    this.dispatchEvent(new Event("change"));
  }

  get isDemo() {
    return this.now?.kind === "demo" && !this.now.overridden_by;
  }

  get shortName() {
    return this.now.overridden_by ?? this.now.model;
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
