// A character card that is dropped on the chat: what is in it, and a button that brings it in.

import { el } from "/page/js/dom.js";
import { renderMarkdown } from "/page/js/markdown/render.js";
import { attempt, toast } from "/page/js/toast.js";
import { openDialog } from "/page/js/view/dialog.js";
import { encodedFile } from "/page/js/compose/uploads.js";

const CARD_MOST = 10 * 1024 * 1024;
const IN_PICTURE = /(?:tEXt|zTXt|iTXt)(?:chara|ccv3|char)\0/i;
const IN_JSON = /"(?:spec"\s*:\s*"chara_card_v|first_mes"|mes_example")/;

export function offerCards(page) {
  page.addDrop(async (file) => {
    if (!page.actions.has("card") || !(await looksLikeCard(file))) return false;
    await attempt(() => preview(page, file));
    return true;
  });
}

async function looksLikeCard(file) {
  if (file.size > CARD_MOST) return false;
  if (/\.charx$/i.test(file.name)) return true;
  if (!/\.(?:png|apng|json)$/i.test(file.name)) return false;
  const text = new TextDecoder("latin1").decode(await file.arrayBuffer());
  return (text.startsWith("{") ? IN_JSON : IN_PICTURE).test(text);
}

async function preview(page, file) {
  const sent = await encodedFile(file);
  const card = await page.api.post("card", { file: sent });
  const here = el("input", { type: "checkbox", checked: true });
  const address = card.picture ? pictureAddress(card.picture) : null;
  const dialog = openDialog({
    title: `Bring in ${card.name}?`,
    className: "card-drop",
    content: [
      el(
        "div",
        { class: "card-drop-head" },
        address ? el("img", { src: address, alt: `The picture of ${card.name}` }) : null,
        el("div", { class: "card-drop-words" }, renderMarkdown(card.preview, page.people)),
      ),
      el("label", { class: "card-drop-here" }, here, el("span", {}, "It answers in this channel")),
    ],
    submitLabel: "Bring it in",
    submit: async () => {
      const channel = here.checked ? page.channelId : null;
      const told = await page.api.post("card", { file: sent, keep: true, channel });
      toast(told.text);
      page.compose(`Hello ${card.name}!`);
    },
  });
  dialog.addEventListener("close", () => address && URL.revokeObjectURL(address), { once: true });
}

function pictureAddress({ type, content }) {
  const bytes = Uint8Array.from(atob(content), (sign) => sign.charCodeAt(0));
  return URL.createObjectURL(new Blob([bytes], { type }));
}
