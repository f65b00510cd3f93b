// A trace of a stream, made ready to be drawn. Pure. Positions count code points, as in Python.

const NOTHING = -1;

export class Trace {
  // `sends` were recorded while it ran; `trace` is the recorded stream, played again.
  constructor({ stream, trace, partial, sends = [] }) {
    this.stream = stream;
    this.partial = partial;
    this.told = trace;
    this.isRecorded = sends.length > 0;
    this.chars = Array.from(trace.raw);
    this.messages = withIds(withSends(trace.messages, sends), stream);
    this.duration = Math.max(1, partial ? stream.duration_ms : trace.duration_ms, ...this.messages.map((m) => m.at_ms), ...trace.tokens.map((t) => t.at_ms));
    this.cells = this.#cells();
    this.moments = this.#moments();
  }

  // The stretches of the raw text that a span of the visible text comes from.
  toRaw([start, end]) {
    const found = [];
    for (const [at, place, length] of this.told.places) {
      const from = Math.max(start, at);
      const to = Math.min(end, at + length);
      if (from < to) found.push([place + from - at, place + to - at]);
    }
    return found;
  }

  indexOf(messageId) {
    return this.messages.findIndex((message) => message.id === String(messageId));
  }

  // How many tokens have arrived by then.
  arrived(ms) {
    return countUntil(this.told.tokens, ms);
  }

  sent(ms) {
    return countUntil(this.messages, ms);
  }

  textOf([start, end]) {
    return this.chars.slice(start, end).join("");
  }

  // The raw text in pieces that are all of one kind: of one token, one message, one reason.
  #cells() {
    const length = this.chars.length;
    const layers = {
      token: fill(length, this.told.tokens.map((token) => [token.span])),
      message: fill(length, this.messages.map((message) => message.sources.flatMap((span) => this.toRaw(span)))),
      withheld: fill(length, this.told.withheld.map((one) => this.toRaw(one.source))),
      lost: fill(length, this.told.lost.map((one) => this.toRaw(one.source))),
      captured: fill(length, this.told.captured.map((one) => (one.raw ? [one.raw] : []))),
      visible: fill(length, [this.told.places.map(([, place, size]) => [place, place + size])]),
    };
    const names = Object.keys(layers);
    const cells = [];
    let start = 0;
    for (let at = 1; at <= length; at += 1) {
      if (at < length && names.every((name) => layers[name][at] === layers[name][start])) continue;
      const cell = { text: this.chars.slice(start, at).join("") };
      for (const name of names) cell[name] = layers[name][start];
      cells.push(cell);
      start = at;
    }
    return cells;
  }

  #moments() {
    const times = [0, ...this.told.tokens.map((t) => t.at_ms), ...this.messages.map((m) => m.at_ms), ...this.told.steps.map((s) => s.at_ms)];
    return [...new Set(times.filter((ms) => ms <= this.duration))].sort((a, b) => a - b);
  }
}

// The ids of a stream are those of its messages, in order; a response's last notices are the stream's.
function withIds(messages, { messages: ids, notices = [] }) {
  const shown = messages.filter((message) => message.kind === "notice").length;
  let next = 0;
  let notice = notices.length - shown;
  return messages.map((message) => ({ ...message, id: (message.kind === "notice" ? notices[notice++] : ids[next++]) ?? null }));
}

// Each message with what was recorded of it: its time is then the real one.
function withSends(messages, sends) {
  const left = [...sends];
  const take = (wanted) => {
    const at = left.findIndex(wanted);
    return at < 0 ? null : left.splice(at, 1)[0];
  };
  const known = messages.map((message) => {
    const send = take((one) => (message.kind === "notice" ? one.notice === message.embed.title : one.notice === null && one.content === message.text));
    return send ? { ...message, send, played_ms: message.at_ms, at_ms: send.sent_ms ?? send.tries.at(-1).at_ms } : message;
  });
  // A notice about a failure comes from the turn, after the stream.
  for (const send of left) if (send.notice !== null) known.push(turnNotice(send, known.length + 1));
  return known;
}

function turnNotice(send, number) {
  const at_ms = send.sent_ms ?? send.tries.at(-1).at_ms;
  return {
    number, send, at_ms, ready_ms: at_ms, queued_ms: 0, wait_ms: 0, typing_ms: 0, kind: "notice", text: "", embed: { title: send.notice },
    files: [], edits: [], via: send.via, spans: [], sources: [], holds: [], changes: [], cuts: [], boundary: null, why: "The bot says this itself: it is no text of the model's.",
  };
}

function fill(length, spans) {
  const layer = new Int32Array(length).fill(NOTHING);
  spans.forEach((list, index) => {
    for (const [start, end] of list) layer.fill(index, start, end);
  });
  return layer;
}

function countUntil(items, ms) {
  let count = 0;
  while (count < items.length && items[count].at_ms <= ms) count += 1;
  return count;
}

// Which row each message stands in, so that none covers another. `least` is a share of the whole.
export function lanes(messages, duration, least, most) {
  const ends = [];
  return messages.map((message) => {
    const at = message.at_ms / duration;
    let lane = ends.findIndex((end) => at - end >= least);
    if (lane < 0) lane = ends.length < most ? ends.length : ends.indexOf(Math.min(...ends));
    ends[lane] = at;
    return lane;
  });
}

export const seconds = (ms) => `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;

export function preview(message) {
  if (message.kind === "notice") return `Notice: ${message.embed.title}`;
  if (message.text) return message.text.replaceAll(/<a?(:\w+:)\d+>/g, "$1");
  return message.files.map((file) => `Picture: ${file.name}`).join(", ");
}
