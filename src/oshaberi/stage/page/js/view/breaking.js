// "Break something": what goes wrong next, on purpose.

import { openMenu } from "../menu.js";
import { attempt, toast } from "../toast.js";

const SENDS = "POST /channels/*/messages|POST /webhooks/*/*";
const WEBHOOKS = "POST /webhooks/*/*";

const fault = (label, hint, body) => ({
  label,
  hint,
  icon: "bolt",
  action: "fault",
  body,
  said: `${label}: armed`,
});

const BREAKS = [
  fault("503 on the next message", "Discord is down for one request", {
    kind: "status",
    status: 503,
    route: SENDS,
  }),
  fault("Reset before it is written", "The connection breaks, nothing arrives", {
    kind: "reset",
    route: SENDS,
  }),
  fault("Reset after it is written", "The message is there, the answer is lost", {
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
  fault("Revoke the webhook", "It is gone when the next face speaks", {
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
    label: "Disarm everything",
    hint: "What was armed and has not struck",
    icon: "close",
    action: "clear_faults",
    body: {},
    said: "Nothing is armed any more",
  },
];

export function openBreakMenu(app, opener) {
  const entries = BREAKS.map((entry) => entry && { ...entry, run: () => run(app, entry) });
  openMenu(opener, entries, { label: "Break something" });
}

function run(app, { action, body, said }) {
  attempt(async () => {
    await app.api.post(action, body);
    toast(said);
  });
}
