// The server as an archive: a download, and what is in one before it is brought in.

import { counted, el, freshId } from "/page/js/dom.js";
import { attempt, toast } from "/page/js/toast.js";
import { openDialog } from "/page/js/view/dialog.js";

const MOST_MB = 40;

export function movePanel(page) {
  const memories = checkbox("With the facts about people");
  const download = el("button", { class: "button secondary", type: "button" }, "Download as an archive");
  const file = el("input", { type: "file", accept: ".zip,application/zip", hidden: true, tabindex: "-1", "aria-label": "Archive" });
  const choose = el("button", { class: "button secondary", type: "button" }, "Bring in an archive…");
  download.addEventListener("click", () => attempt(() => save(page, memories.input.checked)));
  choose.addEventListener("click", () => file.click());
  file.addEventListener("change", () => {
    const [chosen] = file.files;
    file.value = "";
    if (!chosen) return;
    choose.closest("dialog").close();
    attempt(() => preview(page, chosen));
  });
  return el(
    "fieldset",
    { class: "server-move" },
    el("legend", {}, "Move this server"),
    el("p", { class: "server-move-words" }, "Personas, pictures, lorebooks and settings, for another instance of the bot. Keys never come along."),
    memories.row,
    el("div", { class: "server-move-buttons" }, download, choose, file),
  );
}

async function save(page, memories) {
  const { content, text } = await page.api.get("move", memories ? { memories: "1" } : {});
  const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
  const address = URL.createObjectURL(new Blob([bytes], { type: "application/zip" }));
  const link = el("a", { href: address, download: "server.zip" });
  link.click();
  setTimeout(() => URL.revokeObjectURL(address), 10_000);
  toast(`In the archive: ${text}`);
}

export function offerArchives(page) {
  page.addDrop(async (file) => {
    if (!/\.zip$/i.test(file.name) || !(await holdsServer(file))) return false;
    await attempt(() => preview(page, file));
    return true;
  });
}

// The list of its files stands at its end, and names what only such an archive has.
async function holdsServer(file) {
  const end = new Uint8Array(await file.slice(-600_000).arrayBuffer());
  const text = new TextDecoder("latin1").decode(end);
  return text.includes("manifest.json") && text.includes("rows/");
}

async function preview(page, file) {
  if (file.size > MOST_MB * 1024 * 1024) {
    toast(`${file.name} is larger than ${MOST_MB} MB: use oshaberi data import.`, "error");
    return;
  }
  const content = await base64(file);
  const found = await page.api.post("move", { content });
  const memories = checkbox(`With ${counted(found.facts, "fact")} about people`);
  const rules = choice();
  openDialog({
    title: "Bring in this archive?",
    className: "server-move",
    content: [
      el("p", {}, found.text === "nothing" ? "Nothing in it is new to this server." : `It brings ${found.text}.`),
      list("What comes", found.names),
      list("What does not come", found.remarks),
      found.facts ? memories.row : null,
      rules.box,
    ],
    submitLabel: "Bring it in",
    submit: async () => {
      const kept = await page.api.post("move", { content, keep: true, rule: rules.value(), memories: memories.input.checked });
      toast(`Brought in: ${kept.text}`);
    },
  });
}

function list(title, lines) {
  if (!lines.length) return null;
  return el(
    "details",
    { open: lines.length < 8 },
    el("summary", {}, `${title} (${lines.length})`),
    el("ul", {}, lines.map((line) => el("li", {}, line))),
  );
}

function choice() {
  const name = freshId("rule");
  const option = (value, words, checked) =>
    el("label", { class: "server-move-rule" }, el("input", { type: "radio", name, value, checked }), el("span", {}, words));
  const box = el(
    "fieldset",
    {},
    el("legend", {}, "What this server has already"),
    option("merge", "stays: only what is new comes", true),
    option("replace", "is deleted first", false),
  );
  return { box, value: () => box.querySelector(":checked").value };
}

function checkbox(words) {
  const input = el("input", { type: "checkbox" });
  return { input, row: el("label", { class: "server-move-rule" }, input, el("span", {}, words)) };
}

function base64(file) {
  return new Promise((resolve, reject) => {
    const reader = new FileReader();
    reader.addEventListener("load", () => resolve(reader.result.slice(reader.result.indexOf(",") + 1)));
    reader.addEventListener("error", () => reject(reader.error));
    reader.readAsDataURL(file);
  });
}
