import { html } from "../vendor/preact.js";
import { A, Badge, Figure, Figures, go, Note, query, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { bytes, count, time } from "../parts/format.js";
import { useOnce } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Segment({ names, address }) {
  const { topic, partition, base } = names;
  const next = (offset) => go(topicPath(topic, partition, "segments", base) + query({ offset }));
  return html`<${Sheet}>
    <h1><${A} href=${topicPath(topic)}>${topic}<//> <span aria-hidden="true">›</span>
      <${A} href=${topicPath(topic, partition)}> partition ${partition}<//> <span aria-hidden="true">›</span> segment of ${count(+base)}</h1>
    <${Waiting} state=${useOnce(address)}>${(data) => html`
      <${Figures}>
        <${Figure} label="Offsets" value="${count(data.segment.base)} – ${count(data.segment.end)}" note="${count(data.segment.records)} records" />
        <${Figure} label="Size" value=${bytes(data.segment.size)} note="${bytes(data.tail_size)} of index, snapshots and footer" />
        <${Figure} label="Earliest" value=${time(data.segment.min_ms).slice(11, 19)} note=${time(data.segment.min_ms)} />
        <${Figure} label="Latest" value=${time(data.segment.max_ms).slice(11, 19)} note=${time(data.segment.max_ms)} />
        <${Figure} label="Index" value="${count(data.index_all)} intervals" note=${data.segment.cached ? "in memory" : "in the store only"} />
      <//>
      <p><code>${data.segment.object}</code></p>
      ${data.findings.length
        ? data.findings.map((each) => html`<${Note} level="bad">${each}<//>`)
        : html`<${Note} level="ok">What is shown was read from the store just now, and every crc is right.<//>`}
      <${Section} title="Batches">
        <${Table} label="Batches" rows=${data.batches} columns=${COLUMNS} />
        ${data.next_offset !== null && html`<button onClick=${() => next(data.next_offset)}>from offset ${count(data.next_offset)} on</button>`}
      <//>
      <${Section} title="Index">
        <${Table} label="Index" rows=${data.index} columns=${[
          { name: "base", title: "first offset", number: true, cell: (row) => html`<button class="plain" onClick=${() => next(row.base)}>${count(row.base)}</button>` },
          { name: "start", title: "first byte", number: true, cell: (row) => count(row.start) },
          { name: "size", title: "bytes", number: true, cell: (row) => count(row.end - row.start) },
        ]} />
      <//>`}<//><//>`;
}

const COLUMNS = [
  { name: "base", title: "offsets", number: true, cell: (row) => `${count(row.base)} – ${count(row.end)}` },
  { name: "records", number: true },
  { name: "size", number: true, cell: (row) => bytes(row.size) },
  { name: "position", title: "at byte", number: true, cell: (row) => count(row.position) },
  { name: "codec" },
  { name: "producer_id", title: "producer", number: true, cell: (row) => (row.producer_id < 0 ? "–" : row.producer_id) },
  { name: "max_ms", title: "latest", cell: (row) => time(row.max_ms) },
  { name: "crc", cell: (row) => html`<code>${row.crc}</code> <${Badge} level=${row.sound ? "ok" : "bad"}>${row.sound ? "right" : "wrong"}<//>` },
  { name: "kind", title: "", cell: (row) => html`${row.marker && html`<${Badge}>marker<//>`}${row.transactional && html`<${Badge}>transactional<//>`}` },
  { name: "bytes", title: "header", cell: (row) => html`<details><summary>bytes</summary><code class="hex">${row.bytes}</code></details>` },
];
