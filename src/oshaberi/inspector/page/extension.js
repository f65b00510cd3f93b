// The inspector on the stage's page: its panel, and "Why this message?" on what a stream became.

import { debounce } from "/page/js/dom.js";
import { mountInspector } from "./inspector.js";

const LEARN_MS = 300;

export async function extend(page) {
  const { api, bus } = page;
  const panel = page.addPanel({
    name: "inspector",
    title: "Inspector",
    icon: "inspect",
    mount: (root) => mountInspector(root, { api, bus, selectMessage: (id) => page.showMessage(id) }),
  });
  const seen = page.addThingToTry({
    title: "Look inside",
    text: "The inspector shows each stream, and why it became these messages",
    run: () => panel.show(true),
  });
  bus.addEventListener("panel", ({ detail }) => {
    if (detail.name === panel.name && detail.open) seen.tick();
  });
  await explainMessages(page, panel);
}

async function explainMessages(page, panel) {
  const { api, bus } = page;
  const explained = new Set();
  const action = page.addMessageAction({
    label: "Why this message?",
    icon: "why",
    key: "w",
    isOffered: ({ id }) => explained.has(id),
    run: ({ id }) => why(page, panel, id),
  });
  const learn = ({ messages = [], notices = [] }) => {
    const before = explained.size;
    for (const id of [...messages, ...notices]) explained.add(id);
    if (explained.size > before) action.refresh();
  };
  const learnAll = async () => {
    for (const stream of await api.get("streams").catch(() => [])) learn(stream);
  };
  bus.addEventListener("STREAM", ({ detail }) => learn(detail));
  // A notice about a failure comes after the last news of its stream.
  const again = debounce(LEARN_MS, learnAll);
  bus.addEventListener("MESSAGE_CREATE", ({ detail }) => {
    if (detail.author.bot && !explained.has(detail.id)) again();
  });
  await learnAll();
}

async function why(page, panel, id) {
  page.keepInSight(id);
  await panel.show(true);
  page.bus.dispatchEvent(new CustomEvent("select-message", { detail: { id } }));
}
