// The place beside the chat where the inspector lives. Another module draws it, if it is there.

import { byId, debounce } from "./dom.js";

const WIDTH = "oshaberi.inspector.width";
const OPEN = "oshaberi.inspector.open";
const LEAST = 320;
const KEY_STEP = 24;
const LEARN_MS = 300;

export class InspectorHost {
  constructor(app) {
    this.app = app;
    this.panel = byId("inspector");
    this.root = byId("inspector-root");
    this.toggle = byId("toggle-inspector");
    this.mounted = null;
    this.explained = new Set();
    this.toggle.addEventListener("click", () => this.show(this.panel.hidden));
    byId("close-inspector").addEventListener("click", () => this.show(false));
    this.#resizable(byId("inspector-edge"));
  }

  // Whether there is one, and streams to look at; the page works without.
  async load() {
    if (!this.app.store.extensions.has("streams")) return false;
    try {
      this.module = await import("/page/extensions/inspector/inspector.js");
    } catch {
      return false;
    }
    this.toggle.hidden = false;
    this.app.bus.addEventListener("STREAM", (event) => this.#learn(event.detail));
    await this.#learnAll();
    // A notice about a failure comes after the last news of its stream.
    const again = debounce(LEARN_MS, () => this.#learnAll());
    this.app.bus.addEventListener("MESSAGE_CREATE", ({ detail }) => {
      if (detail.author.bot && !this.explains(detail.id)) again();
    });
    if (localStorage.getItem(OPEN) === "1" && innerWidth > 1100) await this.show(true);
    return true;
  }

  async #learnAll() {
    for (const stream of await this.app.api.get("streams").catch(() => [])) this.#learn(stream);
  }

  // Which messages have a stream behind them.
  #learn({ messages = [], notices = [] }) {
    const fresh = [...messages, ...notices].filter((id) => !this.explained.has(id));
    for (const id of fresh) this.explained.add(id);
    if (fresh.length) this.app.bus.dispatchEvent(new Event("explained"));
  }

  explains(id) {
    return this.explained.has(id);
  }

  async show(open) {
    const changes = this.panel.hidden === open;
    this.panel.hidden = !open;
    if (changes) this.app.bus.dispatchEvent(new CustomEvent("inspector", { detail: { open } }));
    this.toggle.setAttribute("aria-pressed", String(open));
    localStorage.setItem(OPEN, open ? "1" : "0");
    if (open && !this.mounted)
      this.mounted = Promise.resolve(this.module.mountInspector(this.root, this.#seam()));
    await this.mounted;
    if (!open) this.toggle.focus();
  }

  #seam() {
    const { api, bus } = this.app;
    return {
      api: {
        get: (action, params) => api.get(action, params),
        post: (action, body) => api.post(action, body),
      },
      bus,
      selectMessage: (id) => this.app.jumpTo(id),
    };
  }

  async select(id) {
    await this.show(true);
    this.app.bus.dispatchEvent(new CustomEvent("select-message", { detail: { id } }));
  }

  #resizable(edge) {
    this.#width(Number(localStorage.getItem(WIDTH)) || 460);
    edge.addEventListener("pointerdown", (event) => {
      edge.setPointerCapture(event.pointerId);
      const move = (moved) => this.#width(innerWidth - moved.clientX);
      edge.addEventListener("pointermove", move);
      edge.addEventListener("pointerup", () => edge.removeEventListener("pointermove", move), {
        once: true,
      });
    });
    edge.addEventListener("keydown", (event) => {
      const step = { ArrowLeft: KEY_STEP, ArrowRight: -KEY_STEP }[event.key];
      if (step) this.#width(this.width + step);
    });
  }

  #width(wanted) {
    this.width = Math.round(Math.min(Math.max(LEAST, wanted), Math.max(LEAST, innerWidth * 0.6)));
    localStorage.setItem(WIDTH, String(this.width));
    document.documentElement.style.setProperty("--inspector-width", `${this.width}px`);
    const edge = byId("inspector-edge");
    edge.setAttribute("aria-valuenow", String(this.width));
    edge.setAttribute("aria-valuemax", String(Math.max(LEAST, Math.round(innerWidth * 0.6))));
  }
}
