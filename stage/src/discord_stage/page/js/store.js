// What the page knows. The feed changes it; views listen to its events and draw.

import { compareIds } from "./ids.js";

const TYPING_MS = 10_000;
const PAGE = 60;
const STRUCTURE = /^(?:CHANNEL_|THREAD_|GUILD_|WEBHOOKS_|COMMANDS_)/;

export class Store extends EventTarget {
  constructor(api) {
    super();
    this.api = api;
    this.world = null;
    this.me = null;
    this.users = new Map();
    this.channels = new Map();
    this.rooms = new Map();
    // Channel → events that came while its messages were on their way.
    this.arriving = new Map();
    this.typing = new Map();
    this.unread = new Map();
    this.channelId = null;
    this.extensions = new Set();
    this.faults = [];
  }

  tell(name, detail = {}) {
    this.dispatchEvent(new CustomEvent(name, { detail }));
  }

  async loadWorld() {
    const known = this.faults;
    const [world, extensions] = await Promise.all([
      this.api.get("world"),
      this.api.get("extensions"),
    ]);
    this.world = world;
    this.extensions = new Set(extensions);
    this.users = new Map(world.users.map((user) => [user.id, user]));
    this.channels = new Map();
    for (const guild of world.guilds) {
      for (const channel of [...guild.channels, ...guild.threads])
        this.channels.set(channel.id, channel);
    }
    for (const channel of world.dms) this.channels.set(channel.id, channel);
    if (!this.users.has(this.me)) this.me = world.you;
    // What was told since then is newer.
    if (this.faults === known) this.faults = world.faults;
    this.tell("world");
  }

  // After a gap: nothing that was loaded can be trusted.
  async reload() {
    await this.loadWorld();
    this.rooms.clear();
    this.typing.clear();
    if (this.channelId && this.channels.has(this.channelId)) await this.loadRoom(this.channelId);
    this.tell("reloaded");
  }

  room(channelId) {
    return this.rooms.get(channelId) ?? null;
  }

  async loadRoom(channelId) {
    const missed = [];
    this.arriving.set(channelId, missed);
    try {
      const { messages, whole } = await this.#page(channelId, null);
      this.rooms.set(channelId, {
        byId: new Map(messages.map((message) => [message.id, message])),
        whole,
      });
    } finally {
      this.arriving.delete(channelId);
    }
    for (const [name, data] of missed) this.apply(name, data);
    return this.rooms.get(channelId);
  }

  // Older messages; returns them, oldest first.
  async loadOlder(channelId) {
    const room = this.rooms.get(channelId);
    if (!room || room.whole) return [];
    const first = sorted(room)[0];
    const { messages, whole } = await this.#page(channelId, first?.id ?? null);
    room.whole = whole;
    for (const message of messages) room.byId.set(message.id, message);
    return messages;
  }

  async #page(channelId, before) {
    const messages = await this.api.get("messages", {
      channel: channelId,
      user: this.me,
      limit: PAGE,
      before,
    });
    return { messages, whole: messages.length < PAGE };
  }

  apply(name, data) {
    this.arriving.get(data.channel_id)?.push([name, data]);
    if (name === "MESSAGE_CREATE" || name === "MESSAGE_UPDATE") this.#put(name, data);
    else if (name === "MESSAGE_DELETE") this.#remove(data.channel_id, [data.id]);
    else if (name === "MESSAGE_DELETE_BULK") this.#remove(data.channel_id, data.ids);
    else if (name.startsWith("MESSAGE_REACTION")) this.#react(data);
    else if (name === "TYPING_START") this.#type(data);
    else if (name === "BOT_STATE") this.#botState(data);
    else if (name === "FAULTS") this.#faults(data);
    else if (STRUCTURE.test(name)) this.tell("stale");
  }

  #faults({ faults }) {
    this.faults = faults;
    this.tell("faults");
  }

  #put(name, message) {
    const created = name === "MESSAGE_CREATE";
    if (created) this.#stopTyping(message);
    const room = this.rooms.get(message.channel_id);
    const known = room?.byId.has(message.id);
    if (room && (created || known)) room.byId.set(message.id, message);
    if (created && message.channel_id !== this.channelId) this.#markUnread(message);
    this.tell("message", { message, created: created && !known });
    if (room && !created) this.#toReplies(room, message.id, message);
  }

  // A reply shows what it answers as that is now.
  #toReplies(room, id, now) {
    for (const message of room.byId.values()) {
      if (message.message_reference?.message_id !== id) continue;
      message.referenced_message = now;
      this.tell("message", { message, created: false });
    }
  }

  #markUnread(message) {
    if (message.author.id === this.me) return;
    const pinged = message.notified?.includes(this.me) ? 1 : 0;
    this.unread.set(message.channel_id, (this.unread.get(message.channel_id) ?? 0) + pinged);
    this.tell("unread");
  }

  markRead(channelId) {
    if (this.unread.delete(channelId)) this.tell("unread");
  }

  #remove(channelId, ids) {
    const room = this.rooms.get(channelId);
    for (const id of ids) {
      room?.byId.delete(id);
      this.tell("removed", { channelId, id });
      if (room) this.#toReplies(room, id, null);
    }
  }

  #react(data) {
    const message = this.rooms.get(data.channel_id)?.byId.get(data.message_id);
    if (!message) return;
    message.reactions = data.reactions ?? [];
    this.tell("message", { message, created: false });
  }

  #botState(data) {
    if (this.world) this.world.connected = data.connected;
    this.tell("bot");
  }

  #type(data) {
    if (data.user_id === this.me) return;
    const there = this.typing.get(data.channel_id) ?? new Map();
    this.typing.set(data.channel_id, there);
    clearTimeout(there.get(data.user_id));
    const forget = () => {
      there.delete(data.user_id);
      this.tell("typing");
    };
    there.set(data.user_id, setTimeout(forget, TYPING_MS));
    this.tell("typing");
  }

  // Who has written has stopped typing; a face of the bot's is the bot.
  #stopTyping(message) {
    const there = this.typing.get(message.channel_id);
    if (!there) return;
    const own = message.application_id === this.world?.application_id;
    const who = own ? this.world.bot.id : message.author.id;
    clearTimeout(there.get(who));
    if (there.delete(who)) this.tell("typing");
  }

  typists(channelId) {
    return [...(this.typing.get(channelId)?.keys() ?? [])];
  }

  get guild() {
    const channel = this.channels.get(this.channelId);
    return (
      this.world?.guilds.find((guild) => guild.id === channel?.guild_id) ??
      this.world?.guilds[0] ??
      null
    );
  }
}

export function sorted(room) {
  return [...room.byId.values()].sort((a, b) => compareIds(a.id, b.id));
}
