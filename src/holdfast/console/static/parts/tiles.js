// Segments as tiles: as wide as they have bytes, as dark as they are old.

import { html } from "../vendor/preact.js";
import { A, topicPath } from "./bits.js";
import { bytes, count, many, time } from "./format.js";

export function Tiles({ segments, topic, partition }) {
  const most = Math.max(...segments.map((each) => each.size), 1);
  return html`<ol class="tiles" aria-label="Segments, oldest first">
    ${segments.map((each) => html`<li data-base=${each.base} data-end=${each.end} data-size=${each.size}
      style=${{ flexGrow: Math.max(each.size / most, 0.08) }} class=${each.cached ? "cached" : ""}>
      <${A} href=${topicPath(topic, partition, "segments", each.base)} title=${told(each)}>
        <b>${count(each.base)} – ${count(each.end)}</b>
        <span>${many(each.records, "record")} · ${bytes(each.size)}</span>
        <span>${time(each.min_ms).slice(0, 19)} – ${time(each.max_ms).slice(11, 19)}</span>
        <span class="tags">${each.compacted ? "compacted " : ""}${each.cached ? "cached " : ""}${each.aborted
          ? `${each.aborted} aborted ` : ""}<span data-codec=${each.first_codec || "unknown"}>${each.first_codec === null ? "codec not known"
          : each.first_codec === "none" ? "not compressed" : each.first_codec}</span> epoch ${each.epoch}</span>
      <//>
    </li>`)}
  </ol>`;
}

const told = (each) =>
  `Offsets ${count(each.base)} to ${count(each.end)}, ${time(each.min_ms)} to ${time(each.max_ms)}, ${each.object}; ${
    each.first_codec === null ? "its codec is not known: its first batch is not in memory" : "the codec is that of its first batch"}`;
