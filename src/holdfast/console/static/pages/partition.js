import { html, useState } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, go, query, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { ago, bytes, count, duration, many, millis, time } from "../parts/format.js";
import { useLive, useOnce } from "../parts/live.js";
import { LargeMarks } from "../parts/marks.js";
import { Table } from "../parts/table.js";
import { Tiles } from "../parts/tiles.js";
import { Still } from "./topic.js";

const PLACES = ["buffer", "in-flight", "spilled", "cache", "store"];

export default function Partition({ names, query: asked, address }) {
  const { topic, partition } = names;
  return html`<${Sheet}>
    <h1><${A} href="/topics">Topics<//> <span aria-hidden="true">›</span> <${A} href=${topicPath(topic)}>${topic}<//>
      <span aria-hidden="true"> ›</span> partition ${partition} <small><${A} class="button" href="${topicPath(topic, "records")}?partition=${partition}">records<//>
      <${A} class="button" href="/proof?topic=${topic}&partition=${partition}">verify<//></small></h1>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      <${LargeMarks} marks=${data.marks} label="Partition ${partition}" />
      <${Still} rows=${[data.marks]} />
      <${Facts} marks=${data.marks} manifest=${data.manifest} now=${data.at_ms} />
      <${Segments} data=${data} topic=${topic} partition=${partition} asked=${asked} />
      <${Reads} reads=${data.reads} own=${data.own_reads} />
      <${Producers} data=${data} />
      <${Section} title="Leader epochs">
        <${Table} label="Leader epochs" rows=${data.epochs} columns=${[{ name: "epoch", number: true },
          { name: "start", title: "from offset", number: true, cell: (row) => count(row.start) }]} />
      <//>`}<//>
    <${Manifests} topic=${topic} partition=${partition} /><//>`;
}

function Facts({ marks, manifest, now }) {
  if (marks.failure) return null;
  return html`<${Figures}>
    <${Figure} label="Records" value=${count(marks.high_watermark - marks.log_start)} note="offsets from log start to high watermark" />
    <${Figure} label="Not flushed" value=${bytes(marks.tail_size)} note=${marks.unflushed_s === null ? "all is in segments"
      : `for ${duration(marks.unflushed_s)}`} />
    <${Figure} label="Size" value=${bytes(marks.size)} note=${many(marks.segments, "segment")} />
    <${Figure} label="Newest record" value=${ago(marks.newest_ms, now)} note=${time(marks.newest_ms)} />
    <${Figure} label="Manifest" value="version ${manifest.version}" note="epoch ${manifest.epoch}, by ${manifest.writer.slice(0, 8)}" />
  <//>`;
}

function Segments({ data, topic, partition, asked }) {
  const before = data.segments_before;
  const older = html`<button onClick=${() => go(topicPath(topic, partition) + query({ ...asked, before }))}>${before} older</button>`;
  const find = (event) => {
    event.preventDefault();
    go(topicPath(topic, partition, "segments", new FormData(event.target).get("offset")) + query({ offset: new FormData(event.target).get("offset") }));
  };
  const holder = html`<form class="filter" onSubmit=${find}><label>Which object holds offset <input name="offset" size="10" pattern="[0-9]+"
    required /></label><button>Show it</button></form>`;
  return html`<${Section} title="Segments" aside=${html`${before > 0 && older} ${data.segments.length > 0 && holder}`}>
    ${data.segments.length
      ? html`<${Tiles} segments=${data.segments} topic=${topic} partition=${partition} />`
      : html`<${Empty} title="No segment yet.">What is written is durable in the write-ahead log, and is flushed into a
          segment when it is large or old enough. Each segment will be a tile here, as wide as it has bytes.<//>`}
  <//>`;
}

function Reads({ reads, own }) {
  const rows = PLACES.map((place) => ({ place, own: own[place] || 0, ...(reads[place] || { count: 0 }) }));
  return html`<${Section} title="Reads by place" aside=${html`<small>since this broker started; times are those of all partitions</small>`}>
    <${Table} label="Reads by place" rows=${rows} columns=${[
      { name: "place", cell: (row) => html`<span data-place=${row.place}>${row.place}</span>` },
      { name: "own", title: "reads of this partition", number: true, cell: (row) => html`<span data-own=${row.own}>${count(row.own)}</span>` },
      { name: "count", title: "of all", number: true, cell: (row) => count(row.count) },
      { name: "mean_ms", title: "mean", number: true, cell: (row) => millis(row.mean_ms) },
      { name: "half_ms", title: "half within", number: true, cell: (row) => millis(row.half_ms) },
      { name: "most_ms", title: "99 % within", number: true, cell: (row) => millis(row.most_ms) },
    ]} />
  <//>`;
}

function Producers({ data }) {
  if (data.producers_all === null)
    return html`<${Section} title="Producers"><${Empty} title="Producers are shown to those who may read the topic.">
      A rule that allows READ on it shows them here.<//><//>`;
  return html`<${Section} title="Producers" aside=${html`<small>${data.producers.length} of ${data.producers_all}</small>`}>
    <${Table} label="Producers" rows=${data.producers} empty=${html`<${Empty} title="No idempotent producer is remembered.">
      Those that write with sequences, as new clients do by themselves, would be here.<//>`} columns=${[
      { name: "producer_id", title: "producer", number: true },
      { name: "epoch", number: true },
      { name: "last_sequence", title: "last sequence", number: true, cell: (row) => count(row.last_sequence) },
      { name: "last_offset", title: "at offset", number: true, cell: (row) => count(row.last_offset) },
      { name: "last_ms", title: "last record", cell: (row) => ago(row.last_ms, data.at_ms) },
      { name: "transaction_start", title: "transaction", cell: (row) => row.transaction_start !== null &&
        html`<${Badge} level="warn">open from ${count(row.transaction_start)}<//>` },
    ]} />
  <//>`;
}

function Manifests({ topic, partition }) {
  const [wanted, setWanted] = useState(false);
  const state = useOnce(wanted ? topicPath(topic, partition, "manifests") : null);
  if (!wanted) {
    return html`<${Section} title="Manifests"><button onClick=${() => setWanted(true)}>Read the last versions from the store</button><//>`;
  }
  return html`<${Section} title="Manifests"><${Waiting} state=${state}>${(data) => html`<${Table} label="Manifests" rows=${data.rows} columns=${[
    { name: "version", number: true },
    { name: "changed", title: "what it changed", cell: (row) => row.changed.join(", ") },
    { name: "flushed", number: true, cell: (row) => count(row.flushed) },
    { name: "epoch", number: true },
    { name: "incarnation", title: "written by", cell: (row) => html`<code>${row.incarnation.slice(0, 12)}</code>` },
  ]} />`}<//><//>`;
}
