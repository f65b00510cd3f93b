// The log of a channel: draws what changed, stays at the bottom if it was there, loads older ones.

import { byId, clear, el } from "../dom.js";
import { compareIds } from "../ids.js";
import { sorted } from "../store.js";
import { channelIntro } from "./intro.js";
import { messageView } from "./message.js";

const NEAR_END_PX = 120;
const NEAR_START_PX = 300;
const FLASH_MS = 2000;
const HOLD_MS = 1000;
const SHOWN_MOST = 1000;
const KEPT = 600;

export class MessageLog {
  constructor(app) {
    this.app = app;
    this.log = byId("log");
    this.scroller = byId("scroller");
    this.latest = byId("to-latest");
    this.views = new Map();
    this.stuck = true;
    this.loading = false;
    this.settling = false;
    this.held = null;
    this.scroller.addEventListener("scroll", () => this.#scrolled(), { passive: true });
    this.latest.addEventListener("click", () => this.toEnd());
    const resized = new ResizeObserver(() => this.#settle());
    for (const part of [this.log, byId("outbox"), this.scroller]) resized.observe(part);
    this.#listen();
  }

  #listen() {
    const { store } = this.app;
    store.addEventListener("message", (event) => this.#changed(event.detail));
    store.addEventListener("removed", (event) => this.#removed(event.detail));
    store.addEventListener("reloaded", () => this.show());
  }

  // Everything anew: another channel, or after a gap.
  show() {
    const { store } = this.app;
    const room = store.room(store.channelId);
    this.views.clear();
    this.log.setAttribute("aria-busy", "true");
    const messages = room ? sorted(room) : [];
    const nodes = messages.map((message, i) => this.#make(message, messages[i - 1]));
    clear(this.log, room?.whole ? channelIntro(this.app) : null, nodes);
    this.log.setAttribute("aria-busy", "false");
    this.#rove();
    this.toEnd();
  }

  #make(message, before) {
    const view = messageView(this.app, message, before);
    this.views.set(message.id, view);
    return view;
  }

  #changed({ message, created }) {
    if (message.channel_id !== this.app.store.channelId) return;
    const old = this.views.get(message.id);
    if (old) this.#redraw(message.id);
    else if (created) this.#insert(message);
  }

  #insert(message) {
    let after = this.log.lastElementChild;
    while (after?.dataset.id && compareIds(after.dataset.id, message.id) > 0)
      after = after.previousElementSibling;
    const view = this.#make(message, this.#message(after?.dataset.id));
    if (after) after.after(view);
    else this.log.append(view);
    this.#regroup(view.nextElementSibling);
    if (this.stuck && this.views.size > SHOWN_MOST) this.#forgetOldest();
    this.#rove();
    if (message.author.id === this.app.store.me) this.toEnd();
    else if (this.stuck) this.#settle();
    else this.latest.hidden = false;
  }

  // A page that stays open for days must not grow for days; they can be loaded again.
  #forgetOldest() {
    const room = this.app.store.room(this.app.store.channelId);
    for (const id of [...this.views.keys()].sort(compareIds).slice(0, -KEPT)) {
      this.views.get(id).remove();
      this.views.delete(id);
      room.byId.delete(id);
    }
    room.whole = false;
    this.log.querySelector(".intro")?.remove();
    this.#regroup(this.log.querySelector(".message"));
  }

  #message(id) {
    return id ? this.app.store.room(this.app.store.channelId)?.byId.get(id) : undefined;
  }

  #redraw(id) {
    const view = this.views.get(id);
    const message = this.#message(id);
    if (!view || !message) return;
    const focused = view.contains(document.activeElement) || view === document.activeElement;
    const shown = [...view.querySelectorAll(".spoiler")].map((spoiler) =>
      spoiler.classList.contains("shown"),
    );
    const fresh = this.#make(message, this.#message(view.previousElementSibling?.dataset.id));
    // Who has looked under a spoiler need not do it again because of a reaction.
    [...fresh.querySelectorAll(".spoiler")].forEach((spoiler, i) => shown[i] && spoiler.click());
    fresh.tabIndex = view.tabIndex;
    view.replaceWith(fresh);
    if (focused) fresh.focus({ preventScroll: true });
  }

  #regroup(view) {
    if (view?.dataset.id) this.#redraw(view.dataset.id);
  }

  #removed({ id }) {
    const view = this.views.get(id);
    if (!view) return;
    const next = view.nextElementSibling;
    const near = next ?? view.previousElementSibling;
    const focused = view.contains(document.activeElement);
    this.views.delete(id);
    view.remove();
    this.#regroup(next);
    this.#rove();
    if (focused) (this.views.get(near?.dataset.id) ?? byId("composer-text"))?.focus();
  }

  // One message is in the tab order: the last, or the one that arrows led to.
  #rove() {
    for (const view of this.log.querySelectorAll(".message[tabindex='0']")) view.tabIndex = -1;
    const last = this.log.lastElementChild;
    if (last?.dataset.id) last.tabIndex = 0;
  }

  move(view, step) {
    const next = step < 0 ? view.previousElementSibling : view.nextElementSibling;
    if (!next?.dataset.id) return false;
    view.tabIndex = -1;
    next.tabIndex = 0;
    next.focus();
    next.scrollIntoView({ block: "nearest" });
    return true;
  }

  toEnd() {
    this.stuck = true;
    this.latest.hidden = true;
    this.#settle();
  }

  // Once per frame: a burst of messages would measure the page again for each.
  #settle() {
    if (this.settling) return;
    this.settling = true;
    requestAnimationFrame(() => {
      this.settling = false;
      if (this.stuck) this.scroller.scrollTop = this.scroller.scrollHeight;
      if (this.held) this.#showHeld();
    });
  }

  // What beside it makes the log narrower must not move this one out of sight.
  hold(id) {
    this.held = String(id);
    setTimeout(() => (this.held = null), HOLD_MS);
  }

  #showHeld() {
    this.views.get(this.held)?.scrollIntoView({ block: "nearest" });
    if (this.#toGo() >= NEAR_END_PX) this.#leaveEnd();
  }

  #leaveEnd() {
    this.stuck = false;
    this.latest.hidden = false;
  }

  #toGo() {
    const { scrollTop, scrollHeight, clientHeight } = this.scroller;
    return scrollHeight - scrollTop - clientHeight;
  }

  #scrolled() {
    const { scrollTop } = this.scroller;
    // Only going up lets go of the end: what arrives in between makes the page longer, not us leave.
    if (this.#toGo() < NEAR_END_PX) this.stuck = true;
    else if (scrollTop < this.top) this.stuck = false;
    this.top = scrollTop;
    this.latest.hidden = this.stuck;
    if (scrollTop < NEAR_START_PX) this.#older();
  }

  async #older() {
    const { store } = this.app;
    const channelId = store.channelId;
    if (this.loading || !store.room(channelId) || store.room(channelId).whole) return;
    this.loading = true;
    try {
      const older = await store.loadOlder(channelId);
      if (channelId === store.channelId) this.#prepend(older);
    } finally {
      this.loading = false;
    }
  }

  #prepend(older) {
    const before = this.scroller.scrollHeight;
    const first = this.log.querySelector(".message");
    this.log.setAttribute("aria-busy", "true");
    const room = this.app.store.room(this.app.store.channelId);
    this.log.prepend(
      ...[
        room.whole ? channelIntro(this.app) : null,
        ...older.map((message, i) => this.#make(message, older[i - 1])),
      ].filter(Boolean),
    );
    this.#regroup(first);
    this.log.setAttribute("aria-busy", "false");
    this.scroller.scrollTop += this.scroller.scrollHeight - before;
  }

  // Loads back until it is there. False if it never was.
  async reveal(id) {
    const { store } = this.app;
    while (!this.views.has(id) && store.room(store.channelId)?.whole === false) {
      const older = await store.loadOlder(store.channelId);
      this.#prepend(older);
    }
    const view = this.views.get(id);
    if (!view) return false;
    if (this.#toGo() >= NEAR_END_PX || view.nextElementSibling) this.#leaveEnd();
    view.scrollIntoView({ block: "center" });
    view.focus({ preventScroll: true });
    view.classList.add("flash");
    setTimeout(() => view.classList.remove("flash"), FLASH_MS);
    return true;
  }
}
