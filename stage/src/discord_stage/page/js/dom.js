// Builds elements. Text only ever becomes text nodes: nothing on this page parses HTML.

const SVG = "http://www.w3.org/2000/svg";

export function el(tag, props = {}, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props)) {
    if (value === undefined || value === null || value === false) continue;
    if (key === "on")
      for (const [name, run] of Object.entries(value)) node.addEventListener(name, run);
    else if (key === "data") Object.assign(node.dataset, value);
    else if (key === "style")
      for (const [name, v] of Object.entries(value)) node.style.setProperty(name, v);
    else if (key in node && typeof value !== "string") node[key] = value;
    else node.setAttribute(key, value === true ? "" : value);
  }
  node.append(
    ...children
      .flat(Infinity)
      .filter((child) => child !== null && child !== undefined && child !== false),
  );
  return node;
}

export function svg(size, ...paths) {
  const node = document.createElementNS(SVG, "svg");
  node.setAttribute("viewBox", "0 0 24 24");
  node.setAttribute("width", size);
  node.setAttribute("height", size);
  node.setAttribute("aria-hidden", "true");
  node.classList.add("icon");
  for (const d of paths) {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("d", d);
    node.append(path);
  }
  return node;
}

export const byId = (id) => document.getElementById(id);

export function clear(node, ...children) {
  node.replaceChildren(...children.flat(Infinity).filter(Boolean));
  return node;
}

// An extension has a copy of this module in its script: all copies count together.
export function freshId(stem) {
  document.lastFreshId = (document.lastFreshId ?? 0) + 1;
  return `${stem}-${document.lastFreshId}`;
}

// The same listener for a click and for Enter or Space on something that is not a button.
export function onPress(node, run) {
  node.addEventListener("click", run);
  node.addEventListener("keydown", (event) => {
    if (event.key !== "Enter" && event.key !== " ") return;
    event.preventDefault();
    run(event);
  });
}

export function debounce(ms, run) {
  let timer = 0;
  return () => {
    clearTimeout(timer);
    timer = setTimeout(run, ms);
  };
}

// `1 message`, `2 messages`.
export const counted = (count, one, many = `${one}s`) => `${count} ${count === 1 ? one : many}`;
