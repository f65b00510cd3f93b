// A picture, large, with its alt text under it.

import { el } from "../dom.js";
import { icon } from "../icons.js";

export function openLightbox(source, alt, name) {
  const close = el(
    "button",
    { class: "icon-button", type: "button", "aria-label": "Close picture" },
    icon("close", 24),
  );
  const image = el("img", { src: source, alt: alt || name });
  const original = el("a", { href: source, target: "_blank", rel: "noopener" }, "Open original");
  const caption = el(
    "figcaption",
    {},
    alt ? el("p", { class: "alt-text", tabindex: "0" }, alt) : null,
    original,
  );
  const dialog = el(
    "dialog",
    { class: "lightbox", "aria-label": alt || name },
    close,
    el("figure", {}, image, caption),
  );
  close.addEventListener("click", () => dialog.close());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog || event.target.tagName === "FIGURE") dialog.close();
  });
  dialog.addEventListener("close", () => dialog.remove());
  document.body.append(dialog);
  dialog.showModal();
}
