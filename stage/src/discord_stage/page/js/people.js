// Who and what the ids are: names, colours, faces, emoji, addresses.

const OWN_HOSTS = new Set([
  location.host,
  `127.0.0.1:${location.port}`,
  `localhost:${location.port}`,
]);
const PLACEHOLDER = /\.(?:png|webp|gif|jpg)$/;

// A picture of the stage itself is asked for as a drawing; one from elsewhere as it is.
export function pictureSource(url) {
  let address;
  try {
    address = new URL(url, location.href);
  } catch {
    return null;
  }
  if (!OWN_HOSTS.has(address.host)) return address.protocol === "https:" ? address.href : null;
  const path = address.pathname + address.search;
  if (!path.startsWith("/cdn/") || path.startsWith("/cdn/attachments/")) return path;
  const avatar = /^\/cdn\/avatars\/(\d+)/.exec(path);
  if (avatar) return `/cdn/avatars/${avatar[1]}.svg`;
  return PLACEHOLDER.test(address.pathname) && !path.startsWith("/cdn/faces/") ? null : path;
}

export const ownPath = (url) => {
  const address = new URL(url, location.href);
  return OWN_HOSTS.has(address.host) ? address.pathname + address.search : address.href;
};

export class People {
  constructor(store) {
    this.store = store;
    this.startCommand = () => {};
  }

  nameOf(user) {
    return this.memberOf(user.id)?.nick ?? user.global_name ?? user.username;
  }

  memberOf(userId) {
    return this.store.guild?.members.find((member) => member.user.id === userId) ?? null;
  }

  colorOf(userId) {
    const guild = this.store.guild;
    const roles = new Set(this.memberOf(userId)?.roles ?? []);
    const tinted = (guild?.roles ?? []).filter((role) => roles.has(role.id) && role.color);
    tinted.sort((a, b) => b.position - a.position);
    return tinted.length ? hex(tinted[0].color) : null;
  }

  isWebhook(message) {
    return Boolean(message.webhook_id) && message.author.discriminator === "0000";
  }

  faceOf(author, fromWebhook) {
    const given =
      author.avatar && /^https?:/.test(author.avatar) ? pictureSource(author.avatar) : null;
    return given ?? this.drawnFace(author, fromWebhook);
  }

  // The avatar that a member has in this guild only.
  guildFace(userId) {
    const avatar = this.memberOf(userId)?.avatar;
    return avatar
      ? `/cdn/guilds/${this.store.guild.id}/users/${userId}/avatars/${avatar}.png`
      : null;
  }

  drawnFace(author, fromWebhook) {
    if (!fromWebhook) return this.guildFace(author.id) ?? `/cdn/avatars/${author.id}.svg`;
    return `/cdn/faces/${encodeURIComponent(author.username)}.svg`;
  }

  user(id) {
    const found = this.store.users.get(id);
    return found ? { name: this.nameOf(found) } : null;
  }

  role(id) {
    const found = this.store.guild?.roles.find((role) => role.id === id);
    return found ? { name: found.name, color: found.color ? hex(found.color) : null } : null;
  }

  channel(id) {
    const found = this.store.channels.get(id);
    if (!found) return null;
    const sign = found.guild_id ? "#" : "@";
    return { name: this.titleOf(found), path: this.pathOf(found), sign };
  }

  titleOf(channel) {
    return channel.name ?? this.nameOf(this.store.world.bot);
  }

  pathOf(channel, messageId = null) {
    const path = `/channels/${channel.guild_id ?? "@me"}/${channel.id}`;
    return messageId ? `${path}/${messageId}` : path;
  }

  emojiSource(id) {
    return `/cdn/emojis/${id}.svg`;
  }

  get customEmoji() {
    return (this.store.world?.guilds ?? []).flatMap((guild) => guild.emojis);
  }
}

const hex = (color) => `#${color.toString(16).padStart(6, "0")}`;
