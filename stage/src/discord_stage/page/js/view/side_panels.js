// Panels beside the chat, which extensions add. Each has a button in the head line; one is open.

import { byId, el } from "../dom.js";
import { icon } from "../icons.js";

const LEAST = 320;
const USUAL = 460;
const KEY_STEP = 24;
const ROOM_FOR_ONE = 1100;

export class SidePanels {
  constructor(app) {
    this.app = app;
    this.all = [];
  }

  get open() {
    return this.all.find((panel) => panel.isOpen) ?? null;
  }

  // `mount(root)` draws the panel when it is opened for the first time; it may be async.
  add({ name, title, icon: sign, mount }) {
    const panel = new SidePanel(this, { name, title, sign, mount });
    this.all.push(panel);
    if (localStorage.getItem(panel.kept.open) === "1" && innerWidth > ROOM_FOR_ONE) panel.show(true);
    return panel;
  }

  toggled(panel, open) {
    if (open) for (const other of this.all) if (other !== panel && other.isOpen) other.show(false);
    this.app.bus.dispatchEvent(new CustomEvent("panel", { detail: { name: panel.name, open } }));
  }
}

class SidePanel {
  constructor(panels, { name, title, sign, mount }) {
    this.panels = panels;
    this.name = name;
    this.mount = mount;
    this.mounted = null;
    this.kept = { width: `stage.panel.${name}.width`, open: `stage.panel.${name}.open` };
    this.root = el("div", { class: "panel-root" });
    this.toggle = el("button", {
      class: "icon-button",
      type: "button",
      title,
      "aria-label": title,
      "aria-pressed": "false",
      on: { click: () => this.show(!this.isOpen) },
    }, icon(sign, 22));
    byId("toggle-members").before(this.toggle);
    this.node = this.#build(title);
    byId("shade").before(this.node);
    this.#width(Number(localStorage.getItem(this.kept.width)) || USUAL);
  }

  #build(title) {
    this.edge = el("div", {
      class: "panel-edge",
      role: "separator",
      "aria-orientation": "vertical",
      "aria-label": `Width of ${title}`,
      "aria-valuemin": String(LEAST),
      tabindex: "0",
    });
    this.#resizable();
    const close = el("button", {
      class: "icon-button",
      type: "button",
      "aria-label": `Close ${title}`,
      on: { click: () => this.show(false) },
    }, icon("close", 20));
    const head = el("header", {}, el("h2", {}, title), close);
    const escape = (event) => {
      if (event.key === "Escape" && !event.defaultPrevented && !event.isComposing) this.show(false);
    };
    return el(
      "aside",
      { class: "side-panel", "aria-label": title, hidden: true, on: { keydown: escape } },
      this.edge,
      head,
      this.root,
    );
  }

  get isOpen() {
    return !this.node.hidden;
  }

  async show(open) {
    const changes = this.isOpen !== open;
    this.node.hidden = !open;
    this.toggle.setAttribute("aria-pressed", String(open));
    localStorage.setItem(this.kept.open, open ? "1" : "0");
    if (changes) this.panels.toggled(this, open);
    if (open) this.mounted ??= Promise.resolve(this.mount(this.root));
    await this.mounted;
    if (!open) this.toggle.focus();
  }

  #resizable() {
    const { edge } = this;
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
    const most = Math.max(LEAST, Math.round(innerWidth * 0.6));
    this.width = Math.round(Math.min(Math.max(LEAST, wanted), most));
    localStorage.setItem(this.kept.width, String(this.width));
    this.node.style.setProperty("--panel-width", `${this.width}px`);
    this.edge.setAttribute("aria-valuenow", String(this.width));
    this.edge.setAttribute("aria-valuemax", String(most));
  }
}
