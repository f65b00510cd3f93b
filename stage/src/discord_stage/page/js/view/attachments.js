// Files of a message: pictures (with alt text, large on a click), text shown, the rest to download.

import { counted, el, onPress } from "../dom.js";
import { icon } from "../icons.js";
import { codeBlock } from "../markdown/render.js";
import { ownPath } from "../people.js";
import { openLightbox } from "./lightbox.js";

const WIDE = 550;
const HIGH = 380;
const TEXT_MOST = 100_000;
const PICTURE = /^image\/(?!svg)/;
const TEXT = /^text\/|json|javascript|xml|x-(?:sh|python|yaml|toml)/;
const TEXT_NAME =
  /\.(?:txt|md|log|csv|py|js|ts|json|ya?ml|toml|sh|rs|go|c|h|cpp|java|rb|sql|html|css|diff|ini)$/i;

export function attachments(app, files) {
  const pictures = files.filter(isPicture);
  const others = files.filter((file) => !isPicture(file));
  return el(
    "div",
    { class: "attachments" },
    pictures.length
      ? el("div", { class: `pictures many-${Math.min(4, pictures.length)}` }, pictures.map(picture))
      : null,
    others.map((file) => (isText(file) ? textFile(file) : fileCard(file))),
  );
}

const isPicture = (file) => PICTURE.test(file.content_type ?? "");
const isText = (file) =>
  (TEXT.test(file.content_type ?? "") || TEXT_NAME.test(file.filename)) && file.size <= TEXT_MOST;

function picture(file) {
  const source = ownPath(file.url);
  const alt = file.description ?? "";
  const image = el("img", { src: source, alt: alt || file.filename, title: alt, ...fitted(file) });
  const open = el(
    "button",
    {
      class: "picture",
      type: "button",
      "aria-label": alt ? `Open picture: ${alt}` : `Open picture ${file.filename}`,
    },
    image,
  );
  open.addEventListener("click", () => openLightbox(source, alt, file.filename));
  image.addEventListener("error", () => open.replaceWith(broken(file, alt)), { once: true });
  const frame = el(
    "div",
    { class: "picture-frame" },
    open,
    alt ? el("span", { class: "alt-mark", "aria-hidden": "true", title: alt }, "ALT") : null,
  );
  return file.filename.startsWith("SPOILER_") ? hidden(frame) : frame;
}

function fitted(file) {
  if (!file.width || !file.height) return {};
  const scale = Math.min(1, WIDE / file.width, HIGH / file.height);
  return { width: Math.round(file.width * scale), height: Math.round(file.height * scale) };
}

function broken(file, alt) {
  const text = el(
    "span",
    {},
    el("b", {}, "This picture cannot be shown"),
    el("small", {}, alt || file.filename),
  );
  return el(
    "div",
    { class: "file-card broken", role: "img", "aria-label": alt || file.filename },
    icon("image", 28),
    text,
  );
}

function hidden(frame) {
  const inside = el("div", { inert: true }, frame);
  const shade = el(
    "div",
    {
      class: "picture-spoiler",
      role: "button",
      tabindex: "0",
      "aria-label": "Spoiler: press to show",
    },
    inside,
    el("span", { class: "spoiler-word" }, "SPOILER"),
  );
  onPress(shade, () => shade.replaceWith(frame));
  return shade;
}

function fileCard(file) {
  const link = el(
    "a",
    { href: ownPath(file.url), download: file.filename, target: "_blank", rel: "noopener" },
    file.filename,
  );
  const size = el("small", {}, sizeText(file.size));
  return el("div", { class: "file-card" }, icon("file", 28), el("span", {}, link, size));
}

function textFile(file) {
  const holder = el("div", { class: "text-file" }, fileCard(file));
  fetch(ownPath(file.url))
    .then((answer) => (answer.ok ? answer.text() : Promise.reject(answer.status)))
    .then((text) => holder.prepend(preview(text, file)))
    .catch(() => {});
  return holder;
}

function preview(text, file) {
  const lang = /\.(\w+)$/.exec(file.filename)?.[1] ?? "";
  const block = codeBlock(text, lang);
  if (text.split("\n").length <= 12) return block;
  block.classList.add("folded");
  const more = el(
    "button",
    { class: "unfold linklike", type: "button", "aria-expanded": "false" },
    "Show all",
  );
  more.addEventListener("click", () => {
    const folded = block.classList.toggle("folded");
    more.textContent = folded ? "Show all" : "Show less";
    more.setAttribute("aria-expanded", String(!folded));
  });
  return el("div", {}, block, more);
}

function sizeText(bytes) {
  if (bytes < 1024) return counted(bytes, "byte");
  if (bytes < 1024 * 1024) return `${(bytes / 1024).toFixed(1)} KB`;
  return `${(bytes / 1024 / 1024).toFixed(1)} MB`;
}
