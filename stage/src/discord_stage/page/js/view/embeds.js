// Embed cards.

import { el } from "../dom.js";
import { renderInline, renderMarkdown } from "../markdown/render.js";
import { pictureSource } from "../people.js";
import { headTime } from "../times.js";
import { openLightbox } from "./lightbox.js";

export function embeds(app, list) {
  return el(
    "div",
    { class: "embeds" },
    list.map((embed) => card(app, embed)),
  );
}

function card(app, embed) {
  const { people } = app;
  const box = el("div", { class: "embed" });
  if (embed.color !== undefined && embed.color !== null)
    box.style.setProperty("--edge", `#${embed.color.toString(16).padStart(6, "0")}`);
  const main = el(
    "div",
    { class: "embed-main" },
    embed.author?.name ? named("embed-author", embed.author, embed.author.name) : null,
    embed.title
      ? named("embed-title", { url: embed.url }, renderInline(embed.title, people))
      : null,
    embed.description
      ? el("div", { class: "embed-text" }, renderMarkdown(embed.description, people))
      : null,
    embed.fields?.length ? fields(embed.fields, people) : null,
  );
  box.append(
    el(
      "div",
      { class: "embed-top" },
      main,
      embed.thumbnail ? shown(embed.thumbnail, "embed-thumbnail") : "",
    ),
  );
  if (embed.image) box.append(shown(embed.image, "embed-image") ?? "");
  const foot = footer(embed);
  if (foot) box.append(foot);
  return box;
}

function named(className, { url, icon_url: iconUrl }, content) {
  const source = iconUrl ? pictureSource(iconUrl) : null;
  const face = source
    ? el("img", { class: "avatar", src: source, alt: "", width: 24, height: 24 })
    : null;
  const safe = url && /^https?:/.test(url);
  const text = safe
    ? el("a", { href: url, target: "_blank", rel: "noopener noreferrer nofollow" }, content)
    : el("span", {}, content);
  return el("div", { class: className, dir: "auto" }, face, text);
}

function fields(list, people) {
  return el(
    "dl",
    { class: "embed-fields" },
    list.map((field) =>
      el(
        "div",
        { class: field.inline ? "inline" : null },
        el("dt", {}, renderInline(field.name, people)),
        el("dd", {}, renderMarkdown(field.value, people)),
      ),
    ),
  );
}

function shown(picture, className) {
  const source = pictureSource(picture.url ?? "");
  if (!source) return null;
  const image = el("img", {
    src: source,
    alt: picture.description ?? "",
    loading: "lazy",
    referrerpolicy: "no-referrer",
  });
  const open = el(
    "button",
    { class: className, type: "button", "aria-label": "Open picture" },
    image,
  );
  open.addEventListener("click", () => openLightbox(source, picture.description ?? "", "picture"));
  image.addEventListener("error", () => open.remove(), { once: true });
  return open;
}

function footer(embed) {
  const parts = [embed.footer?.text, embed.timestamp ? headTime(embed.timestamp) : null].filter(
    Boolean,
  );
  if (!parts.length) return null;
  const source = embed.footer?.icon_url ? pictureSource(embed.footer.icon_url) : null;
  return el(
    "div",
    { class: "embed-footer", dir: "auto" },
    source ? el("img", { class: "avatar", src: source, alt: "", width: 20, height: 20 }) : null,
    parts.join(" • "),
  );
}
