// An extension that uses everything that the page offers to one.

import { el } from "/page/js/dom.js";
import { words } from "./words.js";

export async function extend(page) {
  const asked = new Set();
  const line = el("button", { type: "button" }, words);
  const panel = page.addPanel({
    name: "notes",
    title: "Notes",
    icon: "file",
    mount: (root) => root.append(line),
  });
  line.addEventListener("click", async () => {
    line.title = (await page.api.get("number")).number;
    page.showMessage(line.textContent);
  });
  page.bus.addEventListener("MESSAGE_CREATE", ({ detail }) => { line.title = detail.content; });
  const action = page.addMessageAction({
    label: "Note it",
    icon: "file",
    key: "n",
    isOffered: ({ id }) => asked.has(id),
    run: async ({ id }) => {
      page.keepInSight(id);
      await panel.show(true);
      line.textContent = id;
    },
  });
  page.bus.addEventListener("ASKED", ({ detail }) => {
    asked.add(detail.id);
    action.refresh();
  });
  const button = page.addHeadButton({
    id: "notes",
    icon: "file",
    label: "Take a note",
    run: () => button.say("Taken", `By ${page.botName}`),
  });
  page.addSetting(async () => el("fieldset", {}, el("legend", {}, "Notes")));
  page.addSetting(() => null);
  const entry = page.addThingToTry({
    title: "Take notes",
    text: "In a panel",
    run: () => panel.show(true),
  });
  page.bus.addEventListener("panel", ({ detail }) => detail.open && entry.tick());
  page.addDrop(async (file) => {
    if (!file.name.endsWith(".note")) return false;
    page.compose(`A note for ${page.channelId}: ${await file.text()}`);
    return true;
  });
  page.setGreeting(() => el("p", {}, `${page.botName} takes notes: ${[...page.actions]}`));
}
