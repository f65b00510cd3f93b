// Everything together: what the views ask of each other, and what the feed sets going.

import { Api } from "./api.js";
import { Composer } from "./compose/composer.js";
import { Outbox } from "./compose/outbox.js";
import { debounce } from "./dom.js";
import { loadExtensions } from "./extensions.js";
import { Feed } from "./feed.js";
import { Interactions } from "./interactions.js";
import { People } from "./people.js";
import { Store } from "./store.js";
import { attempt, toast } from "./toast.js";
import { ArmedLine } from "./view/breaking.js";
import { loadPrompts, showGreeting } from "./view/intro.js";
import { Members } from "./view/members.js";
import { MessageLog } from "./view/messages.js";
import { openModal } from "./view/modal.js";
import { openSettings } from "./view/settings.js";
import { SidePanels } from "./view/side_panels.js";
import { Sidebar } from "./view/sidebar.js";
import { StopButton } from "./view/stop_button.js";
import { BREAK, ThingsToTry } from "./view/things_to_try.js";
import { Toolbar } from "./view/toolbar.js";
import { TypingLine } from "./view/typing.js";

const ME = "stage.me";
const STALE_MS = 120;

export class App {
  constructor() {
    this.api = new Api();
    this.bus = new EventTarget();
    this.store = new Store(this.api);
    this.people = new People(this.store);
    this.feed = new Feed(this.api);
    this.interactions = new Interactions(this.bus);
    this.prompts = [];
    // What extensions have added.
    this.messageActions = [];
    this.settings = [];
    this.drops = [];
    this.greeting = null;
    this.store.me = sessionStorage.getItem(ME);
    this.store.addEventListener(
      "stale",
      debounce(STALE_MS, () => attempt(() => this.store.loadWorld())),
    );
    this.feed.addEventListener("connected", ({ detail }) => {
      if (detail.restarted) this.bus.dispatchEvent(new Event("restarted"));
    });
    this.feed.addEventListener("event", (event) => this.#hear(event.detail));
    this.bus.addEventListener("broken", () => this.tries.tick(BREAK));
    this.bus.addEventListener("highlight-message", (event) => this.jumpTo(event.detail.id));
  }

  // The parts of the page, once the world is known.
  build() {
    this.composer = new Composer(this);
    this.outbox = new Outbox(this);
    this.log = new MessageLog(this);
    this.toolbar = new Toolbar(this, this.log);
    this.sidebar = new Sidebar(this);
    this.members = new Members(this);
    this.typing = new TypingLine(this);
    this.stop = new StopButton(this);
    this.armed = new ArmedLine(this);
    this.panels = new SidePanels(this);
    this.tries = new ThingsToTry(this);
    this.people.startCommand = (line) => this.composer.startCommand(line);
  }

  async prepare() {
    this.prompts = await loadPrompts(this);
    await loadExtensions(this);
  }

  #hear({ name, data }) {
    this.store.apply(name, data);
    this.bus.dispatchEvent(new CustomEvent(name, { detail: data }));
  }

  nameOf(message) {
    return this.people.isWebhook(message)
      ? message.author.username
      : this.people.nameOf(message.author);
  }

  // A person pressed or ran something: what comes of it.
  async answered(begun) {
    const answer = await this.interactions.outcome(begun);
    if (!answer)
      toast("This interaction failed: the bot did not answer within three seconds.", "error");
    else if (answer.modal) openModal(this, answer);
    return answer;
  }

  async jumpTo(messageId) {
    if (!(await this.log.reveal(String(messageId)))) toast("That message is not in this channel.");
  }

  dismiss(message) {
    attempt(() => this.api.post("delete", { message: message.id }));
  }

  become(userId) {
    this.store.me = userId;
    sessionStorage.setItem(ME, userId);
    this.feed.open(userId);
  }

  openSettings() {
    openSettings(this);
  }

  showGreeting() {
    showGreeting();
    this.log.show();
  }
}
