// What the program that runs the stage adds to the page. Each extension is a module that exports
// `extend(page)`; `page` is an ExtensionPage. README.md of the stage describes it with an example.

import { byId, clear, el } from "./dom.js";
import { icon } from "./icons.js";
import { toast } from "./toast.js";

export async function loadExtensions(app) {
  for (const { name, address } of await app.api.get("page_extensions")) {
    try {
      const { extend } = await import(address);
      await extend(new ExtensionPage(app));
    } catch (error) {
      toast(`The extension ${name} does not work: ${error.message}`, "error");
      console.warn(error);
    }
  }
}

class ExtensionPage {
  #app;

  constructor(app) {
    this.#app = app;
    // `get(action, params)` and `post(action, body)`: the control API, with the actions that were added.
    this.api = app.api;
    // Every event of the live feed by its name (`detail` is its data), and `restarted`, `panel`.
    this.bus = app.bus;
  }

  // The names of the actions that the program has added to the control API.
  get actions() {
    return this.#app.store.extensions;
  }

  get botName() {
    return this.#app.people.nameOf(this.#app.store.world.bot);
  }

  get channelId() {
    return this.#app.store.channelId;
  }

  // Who and what the ids in a text are, for `renderMarkdown`.
  get people() {
    return this.#app.people;
  }

  // Puts a text into the empty message box, ready to be sent.
  compose(text) {
    this.#app.composer.suggest(text);
  }

  // Goes to a message of the open channel, and marks it.
  showMessage(id) {
    return this.#app.jumpTo(id);
  }

  // What changes the width of the chat must not move this message out of sight.
  keepInSight(id) {
    this.#app.log.hold(id);
  }

  // A panel beside the chat: { name, title, icon, mount(root) } → { isOpen, show(open) }.
  addPanel(panel) {
    return this.#app.panels.add(panel);
  }

  // In a message's toolbar and menu, and on a key: { label, icon, key, isOffered(message),
  // run(message) } → { refresh() }, for when more messages are offered it.
  addMessageAction(action) {
    this.#app.messageActions.push(action);
    return { refresh: () => this.#app.toolbar.refresh() };
  }

  // In the head line: { id, icon, label, keepsWords, run() } → { say(label, title) }. Where there is
  // little room, only buttons that keep their words have any.
  addHeadButton({ id, icon: sign, label, keepsWords = false, run }) {
    const look = keepsWords ? "head-button keeps-words" : "head-button";
    const button = el("button", { id, class: look, type: "button", "aria-haspopup": "dialog", on: { click: run } });
    const say = (words, title = words) => {
      button.title = title;
      button.setAttribute("aria-label", title);
      clear(button, icon(sign, 20), el("span", { class: "head-words" }, words));
    };
    say(label);
    byId("break").before(button);
    return { say };
  }

  // A part of the settings: `make()` returns a node, or null; it may be async.
  addSetting(make) {
    this.#app.settings.push(make);
  }

  // Among "Things to try": { title, text, run() } → { tick() }, for when it was seen.
  addThingToTry(entry) {
    this.#app.tries.add(entry);
    return { tick: () => this.#app.tries.tick(entry.title) };
  }

  // What happens with a file that is dropped on the chat: `take(file)` resolves to true if it was
  // taken, otherwise the file goes into the next message.
  addDrop(take) {
    this.#app.drops.push(take);
  }

  // What stands in the greeting, under "Say something to …": `make()` returns a node.
  setGreeting(make) {
    this.#app.greeting = make;
  }
}
