// Several partitions side by side over one axis of time: a dot for each record, late ones marked.

import { html } from "../vendor/preact.js";
import { go, topicPath } from "./bits.js";
import { time } from "./format.js";

const WIDTH = 1000;
const LEFT = 130;
const LANE = 26;

export function Lanes({ rows }) {
  const names = [...new Set(rows.map((row) => `${row.topic}-${row.partition}`))].sort();
  const times = rows.map((row) => row.ms);
  const first = Math.min(...times);
  const span = Math.max(Math.max(...times) - first, 1);
  const x = (ms) => LEFT + ((ms - first) / span) * (WIDTH - LEFT - 12);
  const height = names.length * LANE + 24;
  return html`<figure class="chart"><svg class="lanes" viewBox="0 0 ${WIDTH} ${height}" style=${{ height: "auto" }} role="img"
    aria-label="${rows.length} records of ${names.length} partitions, from ${time(first)} to ${time(first + span)}">
    ${names.map((name, at) => html`<g><text class="lane-name" x="0" y=${at * LANE + 18}>${name}</text>
      <line class="grid" x1=${LEFT} x2=${WIDTH} y1=${at * LANE + 14} y2=${at * LANE + 14} /></g>`)}
    ${rows.map((row) => html`<circle class="dot-${row.late_ms > 0 ? "late" : "event"}" data-lane="${row.topic}-${row.partition}"
      data-ms=${row.ms} cx=${x(row.ms).toFixed(1)} cy=${names.indexOf(`${row.topic}-${row.partition}`) * LANE + 14} r="4.5"
      onClick=${() => go(topicPath(row.topic, row.partition, "records", row.offset))}>
      <title>${row.topic}-${row.partition}@${row.offset}, ${time(row.ms)}, ${row.key}</title></circle>`)}
    <text class="lane-name" x=${LEFT} y=${height - 4}>${time(first)}</text>
    <text class="lane-name" x=${WIDTH} y=${height - 4} text-anchor="end">${time(first + span)}</text>
  </svg></figure>`;
}
