// The life of an offset in one bar: log start · flushed · last stable · high watermark · log end.

import { html } from "../vendor/preact.js";
import { count, time } from "./format.js";

const WIDTH = 1000;
const LEAST = 26; // So much of the bar has every part that is not empty, or the newest would never be seen.

// Where offsets lie on the bar, in parts that are stretched so that none vanishes.
export function scale(marks) {
  const edges = [marks.log_start, marks.flushed, marks.last_stable, marks.high_watermark, marks.log_end]
    .concat(marks.undecided.map((each) => each.first_offset), marks.expires_below ?? [])
    .filter((each) => each >= marks.log_start && each <= marks.log_end);
  const sorted = [...new Set(edges)].sort((a, b) => a - b);
  const all = marks.log_end - marks.log_start;
  if (!all) return () => 0;
  const widths = sorted.slice(1).map((end, at) => Math.max(((end - sorted[at]) / all) * WIDTH, LEAST));
  const sum = widths.reduce((a, b) => a + b, 0);
  const places = [0];
  widths.forEach((width, at) => places.push(places[at] + (width / sum) * WIDTH));
  return (offset) => {
    const at = Math.max(sorted.findLastIndex((each) => each <= offset), 0);
    if (at + 1 >= sorted.length) return places[at];
    const share = (offset - sorted[at]) / (sorted[at + 1] - sorted[at]);
    return places[at] + share * (places[at + 1] - places[at]);
  };
}

const words = (marks) =>
  `log start ${marks.log_start}, flushed ${marks.flushed}, last stable ${marks.last_stable}, ` +
  `high watermark ${marks.high_watermark}, log end ${marks.log_end}`;

export function Marks({ marks, label, large }) {
  if (marks.failure) return html`<p class="note bad">${marks.failure}</p>`;
  const place = scale(marks);
  const height = large ? 34 : 18;
  const top = large ? 22 : 2;
  const part = (name, from, to, title) =>
    to > from &&
    html`<rect class="part-${name}" data-part=${name} data-from=${from} data-to=${to} x=${place(from)} y=${top}
      width=${Math.max(place(to) - place(from), 1)} height=${height}><title>${title}: ${count(from)} to ${count(to)}</title></rect>`;
  const empty = marks.log_end === marks.log_start;
  return html`<svg class="marks ${large ? "large" : ""}" viewBox="0 0 ${WIDTH} ${large ? 84 : 22}" preserveAspectRatio="none"
    role="img" aria-label="${label}: ${words(marks)}">
    <defs><pattern id="hatch" width="9" height="9" patternUnits="userSpaceOnUse" patternTransform="rotate(45)">
      <rect width="9" height="9" class="hatch-ground" /><rect width="4.5" height="9" class="hatch" /></pattern></defs>
    <rect class="part-none" x="0" y=${top} width=${WIDTH} height=${height} />
    ${!empty && [
      part("stored", marks.log_start, marks.flushed, "In segments, in the store"),
      part("logged", marks.flushed, marks.high_watermark, "In the write-ahead log, durable, not flushed yet"),
      part("late", marks.high_watermark, marks.log_end, "Appended, not durable yet"),
      marks.last_stable < marks.high_watermark &&
        part("undecided", marks.last_stable, marks.high_watermark, "Behind an undecided transaction"),
      marks.undecided.map((each) => html`<line class="opened" data-transaction=${each.producer_id} x1=${place(each.first_offset)}
        x2=${place(each.first_offset)} y1=${top - 2} y2=${top + height + 2}><title>Transaction of
        ${each.transactional_id || `producer ${each.producer_id}`} from ${count(each.first_offset)} on</title></line>`),
      marks.expires_below > marks.log_start &&
        html`<line class="edge" x1=${place(marks.expires_below)} x2=${place(marks.expires_below)} y1=${top - 2}
          y2=${top + height + 2}><title>Retention's edge: below ${count(marks.expires_below)} all is old enough to go</title></line>`,
    ]}
  </svg>`;
}

// The same by the records' own timestamps, on one axis for all partitions: who is behind, and who is early, shows.
export function MarksInTime({ marks, label, from, to, now }) {
  if (marks.failure) return html`<p class="note bad">${marks.failure}</p>`;
  const place = (ms) => Math.min(Math.max((ms - from) / Math.max(to - from, 1), 0), 1) * WIDTH;
  const part = (name, start, end, title) => start >= 0 && end >= start && html`<rect class="part-${name}" data-part=${name} data-from=${start}
    data-to=${end} x=${place(start)} y="2" width=${Math.max(place(end) - place(start), 2)} height="18"><title>${title}: ${time(start)} to ${time(end)}</title></rect>`;
  const edge = marks.retention_ms === null ? null : now - marks.retention_ms;
  return html`<svg class="marks" viewBox="0 0 ${WIDTH} 22" preserveAspectRatio="none" role="img"
    aria-label="${label}: ${marks.newest_ms < 0 ? "no record" : `records from ${time(marks.oldest_ms)} to ${time(marks.newest_ms)}`}">
    <rect class="part-none" x="0" y="2" width=${WIDTH} height="18" />
    ${part("stored", marks.oldest_ms, marks.flushed_ms, "In segments, in the store")}
    ${part("logged", Math.max(marks.flushed_ms, marks.oldest_ms), marks.newest_ms, "In the write-ahead log")}
    ${edge !== null && edge > from && html`<line class="edge" x1=${place(edge)} x2=${place(edge)} y1="0" y2="22"><title>Retention's
      edge: ${time(edge)}</title></line>`}
  </svg>`;
}

// From the oldest record of all partitions to the newest.
export function span(rows) {
  const told = rows.filter((each) => each.newest_ms >= 0);
  return { from: Math.min(...told.map((each) => each.oldest_ms)), to: Math.max(...told.map((each) => each.newest_ms)) };
}

const NAMES = [
  ["log_start", "log start"],
  ["flushed", "flushed"],
  ["last_stable", "last stable"],
  ["high_watermark", "high watermark"],
  ["log_end", "log end"],
];

// The large bar, with the marks named below it.
export function LargeMarks({ marks, label }) {
  return html`<figure class="bar">
    <${Marks} marks=${marks} label=${label} large />
    <${Legend} />
    ${!marks.failure && html`<dl class="named">${NAMES.map(([name, title]) => html`<div data-mark=${name}><dt>${title}</dt>
      <dd>${count(marks[name])}</dd></div>`)}</dl>`}
  </figure>`;
}

export const Legend = () => html`<p class="legend" aria-hidden="true">
  <i class="part-stored"></i>in segments <i class="part-logged"></i>durable, not flushed
  <i class="part-late"></i>not durable yet <i class="part-undecided"></i>behind an undecided transaction
  <span>small parts are widened</span>
</p>`;
