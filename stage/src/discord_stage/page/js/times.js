// How times are written, in the reader's own language.

const DAY_MS = 86_400_000;
const STYLES = {
  t: { timeStyle: "short" },
  T: { timeStyle: "medium" },
  d: { dateStyle: "short" },
  D: { dateStyle: "long" },
  f: { dateStyle: "long", timeStyle: "short" },
  F: { dateStyle: "full", timeStyle: "short" },
  s: { dateStyle: "short", timeStyle: "short" },
  S: { dateStyle: "short", timeStyle: "medium" },
};
const UNITS = [
  ["year", 31_536_000],
  ["month", 2_592_000],
  ["day", 86_400],
  ["hour", 3600],
  ["minute", 60],
  ["second", 1],
];
const formats = new Map();

function format(style) {
  if (!formats.has(style)) formats.set(style, new Intl.DateTimeFormat(undefined, STYLES[style]));
  return formats.get(style);
}

// A `<t:…>`; null if it is no time that exists.
export function formatTimestamp(seconds, style) {
  const date = new Date(seconds * 1000);
  if (Number.isNaN(date.getTime())) return null;
  const text = style === "R" ? relative(seconds) : format(style).format(date);
  return { text, full: format("F").format(date), iso: date.toISOString() };
}

export function relative(seconds, now = Date.now() / 1000) {
  const away = seconds - now;
  const [unit, size] = UNITS.find(([, length]) => Math.abs(away) >= length) ?? UNITS.at(-1);
  return new Intl.RelativeTimeFormat(undefined, { numeric: "auto" }).format(
    Math.round(away / size),
    unit,
  );
}

const dayOf = (date) => new Date(date.getFullYear(), date.getMonth(), date.getDate()).getTime();
export const sameDay = (a, b) => dayOf(new Date(a)) === dayOf(new Date(b));
export const dayName = (iso) => format("D").format(new Date(iso));
export const clock = (iso) => format("t").format(new Date(iso));
export const fullTime = (iso) => format("F").format(new Date(iso));

// As above a message: the time today, with the date before.
export function headTime(iso, now = new Date()) {
  const date = new Date(iso);
  const days = Math.round((dayOf(now) - dayOf(date)) / DAY_MS);
  if (days === 0) return clock(iso);
  if (days === 1) return `Yesterday at ${clock(iso)}`;
  return `${format("d").format(date)} ${clock(iso)}`;
}

export function keepRelativeTimes(root) {
  setInterval(() => {
    for (const node of root.querySelectorAll("time[data-style='R']"))
      node.textContent = relative(Number(node.dataset.seconds));
  }, 20_000);
}
