// While a command is typed as a line: what it takes, and what comes next.

import { byId, clear, el } from "../dom.js";
import { usageOf } from "./line.js";

export function showUsage(app, text) {
  const box = byId("usage");
  const usage = usageOf(app, text);
  box.hidden = !usage;
  if (!usage) return;
  const { command, current } = usage;
  clear(
    box,
    el("b", {}, `/${command.line}`),
    command.options.map((option) => word(option, usage)),
    el("span", { class: "usage-hint" }, current?.description ?? command.description),
  );
}

function word(option, { filled, current }) {
  const kind = option === current ? "now" : filled.has(option) ? "filled" : "";
  return el("code", { class: kind }, option.required ? option.name : `[${option.name}]`);
}
