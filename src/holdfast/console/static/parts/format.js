// Numbers for people: with units, and never invented. What is not known is a dash.

const UNKNOWN = "–";
const whole = new Intl.NumberFormat("en", { maximumFractionDigits: 0 });
const some = new Intl.NumberFormat("en", { maximumSignificantDigits: 3 });

const missing = (value) => value === null || value === undefined || Number.isNaN(value);

export const count = (value) => (missing(value) ? UNKNOWN : whole.format(value));

// "1 segment", "2 segments".
export const many = (value, word) => `${count(value)} ${word}${value === 1 ? "" : "s"}`;

export function short(value) {
  if (missing(value)) return UNKNOWN;
  for (const [size, unit] of [[1e9, "G"], [1e6, "M"], [1e4, "k"]]) {
    if (Math.abs(value) >= size) return `${some.format(value / (size === 1e4 ? 1e3 : size))} ${unit}`;
  }
  return Math.abs(value) < 100 ? some.format(value) : whole.format(value);
}

export function bytes(value) {
  if (missing(value)) return UNKNOWN;
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let number = value;
  let unit = 0;
  while (number >= 1024 && unit < units.length - 1) {
    number /= 1024;
    unit += 1;
  }
  return `${unit === 0 ? whole.format(number) : some.format(number)} ${units[unit]}`;
}

export const rate = (value, unit) => (missing(value) ? UNKNOWN : `${short(value)} ${unit}/s`);
export const byteRate = (value) => (missing(value) ? UNKNOWN : `${bytes(value)}/s`);

export function duration(seconds) {
  if (missing(seconds)) return UNKNOWN;
  if (seconds < 0) return `-${duration(-seconds)}`;
  if (seconds < 0.001) return `${some.format(seconds * 1e6)} µs`;
  if (seconds < 1) return `${some.format(seconds * 1e3)} ms`;
  if (seconds < 60) return `${some.format(seconds)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  if (seconds < 86400) return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
  return `${Math.floor(seconds / 86400)} d ${Math.floor((seconds % 86400) / 3600)} h`;
}

export const millis = (value) => (missing(value) ? UNKNOWN : duration(value / 1000));

export const ago = (ms, now) => (missing(ms) || ms < 0 ? UNKNOWN : `${duration(Math.max(now - ms, 0) / 1000)} ago`);

export function time(ms) {
  if (missing(ms) || ms < 0) return UNKNOWN;
  const date = new Date(ms);
  if (Number.isNaN(date.getTime())) return String(ms);
  return date.toISOString().replace("T", " ").replace("Z", "");
}

export const clock = (ms) => (missing(ms) || ms < 0 ? UNKNOWN : new Date(ms).toLocaleTimeString("en-GB"));
