// Shows the report of /status.json and asks for it again every few seconds. The tools of a server can
// be switched, with /tools.json; the page changes nothing else.
// Text only ever becomes text nodes: whatever a server, a model or an error is called, it is text.

const EVERY_MS = 5000;
const MICROS = 1_000_000;
const byId = (id) => document.getElementById(id);

function el(tag, props, ...children) {
  const node = document.createElement(tag);
  for (const [key, value] of Object.entries(props ?? {})) node.setAttribute(key, value);
  node.append(...children.flat().filter((child) => child !== null && child !== undefined));
  return node;
}

// -- figures ------------------------------------------------------------------------------------

const whole = new Intl.NumberFormat("en");
const short = new Intl.NumberFormat("en", { notation: "compact", maximumFractionDigits: 1 });
const counted = (count, one, many = `${one}s`) => `${whole.format(count)} ${count === 1 ? one : many}`;

function dollars(micros) {
  const amount = micros / MICROS;
  return `$${amount.toFixed(amount >= 1 || amount === 0 ? 2 : 4)}`;
}

function lasting(seconds) {
  if (seconds === null || seconds === undefined) return "–";
  if (seconds < 10) return `${seconds.toFixed(1)} s`;
  if (seconds < 90) return `${Math.round(seconds)} s`;
  if (seconds < 5400) return `${Math.round(seconds / 60)} min`;
  if (seconds < 129600) return `${Math.round(seconds / 3600)} h`;
  return counted(Math.round(seconds / 86400), "day");
}

function clock(at) {
  const when = new Date(at * 1000);
  const today = new Date().toDateString() === when.toDateString();
  const time = when.toLocaleTimeString("en-GB");
  const shown = today ? time : `${when.toLocaleDateString("en-GB", { day: "numeric", month: "short" })} ${time.slice(0, 5)}`;
  return el("time", { datetime: when.toISOString(), title: when.toLocaleString() }, shown);
}

const tokens = (used) =>
  `${short.format(used.input_tokens)} read${used.cached_tokens ? ` (${short.format(used.cached_tokens)} from caches)` : ""}, ${short.format(used.output_tokens)} written`;

// -- parts of the page --------------------------------------------------------------------------

const quiet = (text) => el("span", { class: "quiet" }, text);
const id = (text) => el("span", { class: "id" }, text);
const mark = (kind, text) => el("span", { class: `mark ${kind}` }, text);
const empty = (text) => el("div", { class: "box empty" }, text);

function table(heads, rows) {
  const numeric = (head) => (head.startsWith("#") ? { class: "number" } : {});
  const names = heads.map((head) => head.replace(/^#/, ""));
  const body = rows.map((cells) =>
    el("tr", {}, cells.map((cell, at) => {
      const own = cell?.cell ? cell : { cell: [cell] };
      return el("td", { ...numeric(heads[at]), ...own.props, "data-label": names[at] }, el("div", {}, own.cell));
    })),
  );
  const head = el("tr", {}, heads.map((one, at) => el("th", { scope: "col", ...numeric(one) }, names[at])));
  return el("div", { class: "box" }, el("table", {}, el("thead", {}, head), el("tbody", {}, body)));
}

function place(server, channel) {
  if (!server && !channel) return quiet("–");
  const name = channel?.name ? `#${channel.name}` : channel ? `channel ${channel.id}` : "";
  const where = server ? (server.name ?? `server ${server.id}`) : "direct messages";
  return [el("strong", {}, where), name ? ` ${name}` : ""];
}

function card(title, big, small) {
  return el("div", { class: "card" }, el("dl", {}, el("dt", {}, title), el("dd", { class: "big" }, big), el("dd", { class: "quiet" }, small)));
}

function shownHealth({ health, process }) {
  const pills = Object.entries(health.parts).map(([name, state]) => {
    const kind = state === "ok" ? "" : ["gateway", "discord"].includes(name) ? "bad" : "warn";
    return el("span", { class: `pill ${kind}` }, el("b", {}, name), state);
  });
  if (health.ready !== "ok" && health.parts.gateway === "ok")
    pills.push(el("span", { class: "pill warn" }, el("b", {}, "ready"), health.ready));
  if (health.runs_on === "stage")
    pills.push(el("span", { class: "pill warn" }, el("b", {}, "stage"), "no token: nobody on Discord sees this bot"));
  if (process.slowdown)
    pills.push(el("span", { class: "pill warn" }, el("b", {}, "Discord"), "refuses many requests: the bot slows down"));
  if (process.kept_entries)
    pills.push(el("span", { class: "pill warn" }, el("b", {}, "kept"), `${counted(process.kept_entries, "entry", "entries")} until the database is back`));
  return pills;
}

function memory({ memory_mb: now, peak_memory_mb: peak, open_files: files, most_open_files: most }) {
  if (now === null) return `at most ${whole.format(peak)} MB`;
  return `${whole.format(now)} MB (at most ${whole.format(peak)}), ${whole.format(files)} of ${whole.format(most)} descriptors`;
}

function shownCards({ process, turns, usage }) {
  const { running, waiting, most } = turns;
  const cards = [
    card("Answers under way", whole.format(running), `${counted(waiting, "question")} waiting; at most ${whole.format(most)} at once`),
    card("First message after", lasting(turns.first_message_s), turns.answers ? `on average of ${counted(turns.answers, "answer")}; first token after ${lasting(turns.first_token_s)}` : "no answer since the start"),
    card("Servers", whole.format(process.servers), `${process.shards_connected} of ${counted(process.shards, "shard")} connected`),
    card("Discord answers in", process.latency_ms === null ? "–" : `${process.latency_ms} ms`, `loop lag ${process.loop_lag_ms} ms`),
  ];
  if (usage)
    for (const [title, used] of [["Your keys today", usage.today], ["Last 30 days", usage.lately]])
      cards.push(card(title, used.cost_micros ? dollars(used.cost_micros) : counted(used.requests, "request"), `${used.cost_micros ? `${counted(used.requests, "request")}, ` : ""}${tokens(used)}`));
  return cards;
}

function shownStream({ stream, is_gathering: gathering }) {
  if (!stream) return [quiet(gathering ? "waits until the question is complete" : "prepares, runs a tool or waits for a slot")];
  const { provider, model, seconds, messages } = stream;
  const said = el("div", {}, `for ${lasting(seconds)}, ${messages ? counted(messages, "message") : "no message yet"}`);
  const silent = stream.hangs ? mark("bad", `silent for ${lasting(stream.silent_s)}`) : null;
  return [el("strong", {}, model), id(provider), said, silent];
}

function shownNow({ turns }) {
  if (!turns.busy.length) return [empty("Nothing runs and nothing waits.")];
  const rows = turns.busy.map((one) => [
    { cell: [place(one.server, one.channel), id(one.channel.id)].flat() },
    { cell: [id(one.user)] },
    lasting(one.seconds),
    { cell: shownStream(one) },
    whole.format(one.waiting),
    one.why,
  ]);
  const found = [table(["Where", "Who asked", "#Since", "What it does", "#Waiting behind", "Why"], rows)];
  if (turns.more_busy) found.push(quiet(`and ${counted(turns.more_busy, "more channel")}`));
  return found;
}

function shownKeys(one) {
  if (!one.yours) return quiet("the servers' own");
  if (!one.keys.length) return quiet("none needed or none set");
  const paused = one.keys.filter((key) => key.paused_until);
  if (!paused.length) return counted(one.keys.length, "key");
  const until = Math.min(...paused.map((key) => key.paused_until));
  return [mark(paused.length === one.keys.length ? "bad" : "warn", `${paused.length} of ${one.keys.length} paused`), " until ", clock(until)];
}

function shownModels({ models, usage_problem: problem }) {
  if (!models.length) return [empty("No model is set up. Put one into `models` in the settings.")];
  const rows = models.map((one) => [
    { cell: [el("strong", {}, one.model), id(one.provider)] },
    { cell: [one.problem ? mark("bad", `fails: ${one.problem}`) : mark("", "well"), ...one.refused.map(id)] },
    { cell: [shownKeys(one)].flat() },
    one.used ? whole.format(one.used.requests) : "–",
    one.used ? tokens(one.used) : "–",
    one.used?.cost_micros ? dollars(one.used.cost_micros) : "–",
  ]);
  const found = [table(["Model", "Health", "Keys", "#Requests", "#Tokens", "#Cost"], rows)];
  if (problem) found.unshift(el("p", { class: "lost" }, `What was used is not known: ${problem}`));
  return found;
}

function shownServers({ servers }) {
  if (!servers.length) return [empty("Nobody has asked yet.")];
  const most = Math.max(1, ...servers.map((one) => one.lately.input_tokens + one.lately.output_tokens));
  const rows = servers.map((one) => {
    const used = one.lately.input_tokens + one.lately.output_tokens;
    const bar = el("progress", { max: most, value: used, "aria-label": `share of the most used server, ${one.id}` });
    return [
      { cell: [el("strong", {}, one.name ?? "a server of another process, or left"), one.id === "0" ? null : id(one.id), bar] },
      whole.format(one.today.requests),
      whole.format(one.lately.requests),
      tokens(one.lately),
      one.lately.cost_micros ? dollars(one.lately.cost_micros) : "–",
    ];
  });
  return [table(["Server", "#Requests today", "#30 days", "#Tokens, 30 days", "#Cost, 30 days"], rows)];
}

function shownWarnings({ warnings }) {
  if (!warnings.length) return [empty("Nothing has failed since the start.")];
  const lines = warnings.map((one) => {
    const ids = [];
    if (one.server || one.channel) ids.push(el("span", {}, place(one.server, one.channel)));
    for (const name of ["turn", "user"]) if (one[name]) ids.push(el("span", {}, `${name} `, el("code", {}, one[name])));
    for (const name of ["server", "channel"]) if (one[name]) ids.push(el("span", {}, `${name} `, el("code", {}, one[name].id)));
    return el("li", {}, clock(one.at), el("div", { class: "text" }, mark(one.level, one.level), one.text), ids.length ? el("div", { class: "ids" }, ids) : null);
  });
  return [el("div", { class: "box" }, el("ul", { class: "failures", tabindex: "0", "aria-label": "Last failures, newest first" }, lines))];
}

const WHO = { everyone: "everybody", asker: "who asked", manage_messages: "Manage Messages", manage_server: "Manage Server" };

let ofServer = null; // the tools of the chosen server, as last read

function shownTools({ tools }) {
  const shown = ofServer?.tools ?? tools;
  if (!shown.length) return [empty("There are no tools.")];
  const rows = shown.map((one) => [
    { cell: [el("strong", {}, one.name), id(one.source)] },
    { cell: ofServer ? [stateInServer(one)] : [one.offered ? mark("", "offered") : blockedByYou()] },
    WHO[one.permission],
    one.asks ? WHO[one.asks] : "–",
    ...(ofServer ? [switchOf(one)] : []),
  ]);
  return [table(["Tool", "To models", "For", "Asks first", ...(ofServer ? ["Switch"] : [])], rows)];
}

const blockedByYou = () => mark("warn", "blocked by your settings");

function stateInServer(one) {
  if (one.offered) return mark("", "offered");
  return one.by_you ? mark("other", "off in this server") : blockedByYou();
}

function switchOf(one) {
  if (!one.by_you) return quiet("in your settings");
  const many = one.switch === "*" ? "everything" : `all of ${one.switch}`;
  const what = one.offered ? "Switch off" : one.switch === one.name ? "Switch on" : `Switch on ${many}`;
  const button = el("button", { class: "plain", "data-tool": one.name, "aria-label": `${what}: ${one.name}` }, what);
  const { server, name, csrf_token: token } = ofServer;
  button.addEventListener("click", () => switchTool(button, { server, tool: one.switch, offer: !one.offered }, name, token));
  return button;
}

function shownSettings({ settings }) {
  const all = byId("all-settings").checked;
  const shown = settings.filter((one) => all || one.from !== "default");
  if (!shown.length) return [empty("All settings are at their defaults.")];
  const filled = (_key, value) => (value === null ? undefined : value);
  const said = (value) => (typeof value === "string" ? value : (JSON.stringify(value, filled, 1) ?? "none"));
  const rows = shown.map((one) => [el("code", {}, one.name), { cell: [said(one.value)], props: { class: "value" } }, quiet(one.from)]);
  return [table(["Setting", "Value", "From"], rows)];
}

// -- asking and showing -------------------------------------------------------------------------

const SECTIONS = {
  health: [shownHealth, ["health", "process"]],
  cards: [shownCards, ["process", "turns", "usage"]],
  now: [shownNow, ["turns"]],
  warnings: [shownWarnings, ["warnings"]],
  models: [shownModels, ["models", "usage_problem"]],
  servers: [shownServers, ["servers"]],
  tools: [shownTools, ["tools"], () => ofServer],
  settings: [shownSettings, ["settings"]],
};
const seen = {};
let last = null;

function show(report) {
  const { process } = report;
  byId("bot").textContent = process.bot ?? "not connected";
  const up = lasting(Date.now() / 1000 - process.started);
  byId("process").textContent = `${process.instance}, up for ${up}. Oshaberi ${process.version}, Python ${process.python}, ${memory(process)}`;
  showServerChoice(report);
  for (const [name, [shown, keys, more]] of Object.entries(SECTIONS)) {
    const state = JSON.stringify([keys.map((key) => report[key]), byId("all-settings").checked, more?.()]);
    // What has not changed stays: somebody may be reading or copying it.
    if (seen[name] === state) continue;
    seen[name] = state;
    const pressed = byId(name).contains(document.activeElement) ? document.activeElement.dataset.tool : undefined;
    byId(name).replaceChildren(...shown(report));
    if (pressed !== undefined) byId(name).querySelector(`[data-tool="${CSS.escape(pressed)}"]`)?.focus();
  }
}

function showServerChoice({ tool_servers: servers }) {
  const choice = byId("tool-server");
  const state = JSON.stringify(servers);
  if (seen.choice === state) return;
  seen.choice = state;
  const chosen = choice.value;
  const options = servers.map((one) => el("option", { value: one.id }, one.name || `server ${one.id}`));
  choice.replaceChildren(choice.options[0], ...options);
  choice.value = servers.some((one) => one.id === chosen) ? chosen : "";
}

function tell(text, refused = false) {
  byId("tool-told").textContent = text;
  byId("tool-told").classList.toggle("refused", refused);
}

async function readTools() {
  const server = byId("tool-server").value;
  const answer = server ? await fetch(`/tools.json?server=${server}`, { cache: "no-store", redirect: "error" }) : null;
  const said = answer ? await answer.json() : null;
  if (byId("tool-server").value !== server) return;
  if (answer?.status === 401) return location.reload();
  ofServer = answer?.ok ? said : null;
  if (answer && !answer.ok) {
    byId("tool-server").value = "";
    tell(said.problem, true);
  }
}

let switching = false;

async function switchTool(button, wanted, name, token) {
  if (switching) return;
  switching = true;
  button.setAttribute("aria-disabled", "true"); // `disabled` would take the focus away
  const headers = { "Content-Type": "application/json", "X-CSRF-Token": token };
  try {
    const answer = await fetch("/tools.json", { method: "POST", headers, body: JSON.stringify(wanted), redirect: "error" });
    if (answer.status === 401) return location.reload();
    const said = await answer.json();
    tell(`${name}: ${(said.told ?? said.problem).replaceAll("`", "")}`, !answer.ok);
    await readTools();
    if (last) show(last);
  } catch (error) {
    tell(`Whether this was stored is not known (${error.message}).`, true);
  }
  button.removeAttribute("aria-disabled");
  switching = false;
}

async function ask() {
  const lost = byId("lost");
  try {
    const answer = await fetch("/status.json", { cache: "no-store", redirect: "error" });
    if (answer.status === 401) return location.reload();
    if (!answer.ok) throw new Error(`HTTP ${answer.status}`);
    last = await answer.json();
    await readTools();
    show(last);
    lost.hidden = true;
    byId("fresh").textContent = `as of ${new Date().toLocaleTimeString("en-GB")}`;
  } catch (error) {
    lost.textContent = `The bot does not answer (${error.message}). What you see is old.`;
    lost.hidden = false;
  }
}

byId("all-settings").addEventListener("change", () => last && show(last));
byId("tool-server").addEventListener("change", () => {
  tell("");
  ask();
});
document.addEventListener("visibilitychange", () => document.hidden || ask());
setInterval(() => document.hidden || ask(), EVERY_MS);
await ask();
