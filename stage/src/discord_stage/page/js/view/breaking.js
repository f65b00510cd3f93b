// "Break something": what goes wrong next, on purpose, and the line that says what is armed.

import { byId, clear, el } from "../dom.js";
import { icon } from "../icons.js";
import { openMenu } from "../menu.js";
import { attempt, toast } from "../toast.js";

const SENDS = "POST /channels/*/messages|POST /webhooks/*/*";
const WEBHOOKS = "POST /webhooks/*/*";

const STRUCK_MS = 8000;

const fault = (label, hint, body) => ({
  label,
  hint,
  icon: "bolt",
  action: "fault",
  body,
  said: null,
});

const BREAKS = [
  fault("503 on the next message", "Discord is down for one request", {
    kind: "status",
    status: 503,
    route: SENDS,
  }),
  fault("Reset before it is written", "The connection breaks, and no message arrives", {
    kind: "reset",
    route: SENDS,
  }),
  fault("Reset after it is written", "The message is there, but the bot gets no answer", {
    kind: "reset",
    route: SENDS,
    after: true,
  }),
  fault("Rate limit of 3 seconds", "429 with Retry-After", {
    kind: "status",
    status: 429,
    retry_after_s: 3,
    route: SENDS,
  }),
  fault("A slow answer", "The next message takes 4 seconds", {
    kind: "delay",
    delay_s: 4,
    route: SENDS,
  }),
  fault("Revoke the webhook", "It is gone at the next message with another face", {
    kind: "revoke_webhook",
    route: WEBHOOKS,
  }),
  null,
  {
    label: "Drop the gateway",
    hint: "The bot has to reconnect and resume",
    icon: "bolt",
    action: "gateway",
    body: { do: "drop" },
    said: "The gateway connection is cut",
  },
  {
    label: "Invalidate the session",
    hint: "The bot has to start a new one",
    icon: "bolt",
    action: "gateway",
    body: { do: "invalidate" },
    said: "The session is invalid",
  },
  null,
  {
    label: "Cancel all of them",
    hint: "Those that have not happened yet",
    icon: "close",
    action: "clear_faults",
    body: {},
    said: "Nothing will go wrong now",
  },
];

export function openBreakMenu(app, opener) {
  const entries = BREAKS.map((entry) => entry && { ...entry, run: () => run(app, entry) });
  openMenu(opener, entries, { label: "Break something" });
}

function run(app, { action, body, said }) {
  attempt(async () => {
    await app.api.post(action, body);
    app.bus.dispatchEvent(new Event("broken"));
    if (said) toast(said);
  });
}

// What is armed stays in sight until it strikes; that it did, for a moment longer.
export class ArmedLine {
  constructor(app) {
    this.app = app;
    this.line = byId("armed");
    this.armed = [];
    this.struck = [];
    this.strikes = null;
    for (const name of ["world", "faults"])
      app.store.addEventListener(name, () => this.#know(app.store.faults));
  }

  #know(faults) {
    const strikes = new Map();
    for (const one of faults) {
      const name = nameOf(one);
      strikes.set(name, (strikes.get(name) ?? 0) + one.struck);
    }
    for (const [name, count] of this.strikes ? strikes : [])
      for (let seen = this.strikes.get(name) ?? 0; seen < count; seen += 1) this.#strike(name);
    this.strikes = strikes;
    this.armed = faults.filter((one) => !isSpent(one)).map(nameOf);
    this.#draw();
  }

  #strike(name) {
    this.struck.push(name);
    setTimeout(() => {
      this.struck.shift();
      this.#draw();
    }, STRUCK_MS);
  }

  #draw() {
    const disarm = el(
      "button",
      { class: "linklike", type: "button", on: { click: () => run(this.app, BREAKS.at(-1)) } },
      "Disarm",
    );
    const part = (kind, said, names) =>
      names.length
        ? el("span", { class: kind }, icon("bolt", 14), `${said}: ${counted(names)}`)
        : null;
    clear(
      this.line,
      part("is-armed", "Armed", this.armed),
      this.armed.length ? disarm : null,
      part("has-struck", "Struck", this.struck),
    );
    this.line.hidden = !this.armed.length && !this.struck.length;
  }
}

const isSpent = ({ times, struck }) => times !== null && struck >= times;

function nameOf(one) {
  const known = BREAKS.find(
    (entry) =>
      entry?.action === "fault" &&
      Object.entries({ after: false, ...entry.body }).every(([key, value]) => one[key] === value),
  );
  return known?.label ?? `${one.kind} on ${one.route}`;
}

function counted(names) {
  const counts = new Map();
  for (const name of names) counts.set(name, (counts.get(name) ?? 0) + 1);
  return [...counts].map(([name, count]) => (count > 1 ? `${name} ×${count}` : name)).join(", ");
}
