import { html, useState } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, go, Note, query, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { Change } from "../parts/change.js";
import { ago, bytes, count, duration, many, rate, short } from "../parts/format.js";
import { useLive, useOnce } from "../parts/live.js";
import { Legend, Marks, MarksInTime, span } from "../parts/marks.js";
import { Pager, Table } from "../parts/table.js";

export default function Topic({ names, query: asked, address }) {
  const name = names.topic;
  return html`<${Sheet}>
    <h1><${A} href="/topics">Topics<//> <span aria-hidden="true">›</span> ${name} <small><${A} class="button" href=${topicPath(name, "records")}>records<//></small></h1>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      <${Buttons} topic=${name} may=${data.may} />
      <${Sums} of=${data.sums} now=${data.at_ms} />
      <${Still} rows=${data.rows} />
      <${Section} title="Partitions" aside=${html`<${Axis} topic=${name} asked=${asked} /><${Legend} />`}>
        <ul class="partitions">${data.rows.map((row) => html`<${Row} key=${row.partition} topic=${name} row=${row} now=${data.at_ms}
          axis=${asked.axis === "time" ? span(data.rows) : null} />`)}</ul>
        <${Pager} start=${data.start} count=${data.rows.length} all=${data.all}
          onMove=${(start) => go(topicPath(name) + query({ ...asked, start }))} />
      <//>`}<//>
    <${Configs} topic=${name} /><//>`;
}

const Axis = ({ topic, asked }) => html`<label class="check"><input type="checkbox" checked=${asked.axis === "time"}
  onChange=${(event) => go(topicPath(topic) + query({ ...asked, axis: event.target.checked ? "time" : "" }))} /> by time</label>`;

const RECORD = [
  { name: "partition", title: "Partition", value: 0, kind: "number", min: 0 },
  { name: "key", title: "Key" },
  { name: "value", title: "Value", lines: 5 },
];
const CONFIG = [{ name: "name", title: "Config", required: true }, { name: "value", title: "Value; empty is the default again" }];

function Buttons({ topic, may }) {
  if (!may.produce && !may.configure && !may.delete) return null;
  return html`<p class="buttons">
    ${may.produce && html`<${Change} title="Produce a record" url=${topicPath(topic, "records")} fields=${RECORD}
      make=${(said) => ({ partition: Number(said.partition), key: said.key || null, value: said.value })} />`}
    ${may.configure && html`<${Change} title="Set a config" url=${topicPath(topic, "configs")} name=${topic} fields=${CONFIG}
      make=${(said) => ({ name: said.name, value: said.value === "" ? null : said.value })} />`}
    ${may.delete && html`<${Change} title="Delete the topic" danger url=${topicPath(topic, "delete")} name=${topic}
      text="All of its records go, for ever." />`}
  </p>`;
}

function Sums({ of, now }) {
  if (!of) return null;
  return html`<${Figures}>
    <${Figure} label="Records" value=${short(of.records)} note=${rate(of.rate, "records")} />
    <${Figure} label="Size" value=${bytes(of.size)} note="${bytes(of.unflushed_size)} in no segment yet" />
    <${Figure} label="Newest record" value=${ago(of.newest_ms, now)} note="by its own timestamp" />
    <${Figure} label="Durability" value=${of.durability === "memory" ? "memory" : "fsync"}
      note=${of.durability === "memory" ? "an ack does not wait for the disk" : "an ack means: on the disk"} />
    <${Figure} label="Oldest unflushed" value=${of.unflushed ? duration(of.oldest_unflushed_s) : "none"}
      note="${of.unflushed} of ${of.partitions} partitions" />
  <//>`;
}

// Why a consumer in read-committed stands still.
export function Still({ rows }) {
  const held = rows.filter((row) => row.undecided && row.undecided.length && row.last_stable < row.high_watermark);
  if (!held.length) return null;
  return html`<${Note} level="warn">Read-committed consumers stand still: ${held.map((row) => html`<span data-held=${row.partition ?? ""}>
    ${row.partition !== undefined && html`partition ${row.partition} `}at offset <b>${count(row.last_stable)}</b>${`, ${count(row.high_watermark - row.last_stable)} records behind the open transaction of `}
    <b>${row.undecided[0].transactional_id || `producer ${row.undecided[0].producer_id}`}</b>. </span>`)}<//>`;
}

function Row({ topic, row, now, axis }) {
  return html`<li data-partition=${row.partition}>
    <${A} class="number" href=${topicPath(topic, row.partition)}>${row.partition}<//>
    ${axis ? html`<${MarksInTime} marks=${row} label="Partition ${row.partition}" now=${now} ...${axis} />`
      : html`<${Marks} marks=${{ undecided: [], ...row }} label="Partition ${row.partition}" />`}
    <span class="facts">${row.failure ? "" : html`${many(row.high_watermark - row.log_start, "record")} · ${bytes(row.size)}${` · ${many(row.segments, "segment")} · `}${row.newest_ms < 0 ? "no record yet" : ago(row.newest_ms, now)}
      ${row.unflushed_s !== null && html` · unflushed for ${duration(row.unflushed_s)}`}
      ${row.is_flushing && html` <${Badge}>flushing<//>`}`}</span>
  </li>`;
}

function Configs({ topic }) {
  const [all, setAll] = useState(false);
  const state = useOnce(topicPath(topic, "configs"));
  const aside = html`<label class="check"><input type="checkbox" checked=${all}
    onChange=${(event) => setAll(event.target.checked)} /> defaults, too</label>`;
  return html`<${Section} title="Configs" aside=${aside}><${Waiting} state=${state}>${(data) => {
    const rows = data.rows.filter((row) => all || row.source !== "default");
    if (data.error) return html`<${Note} level="warn">${data.error}<//>`;
    return html`<${Table} label="Configs" columns=${CONFIG_COLUMNS} rows=${rows} empty=${html`<${Empty}
      title="All ${data.rows.length} configs have their default.">What differs would be here, with who set it. Change one:
      <code>kafka-configs.sh --alter --topic ${topic} --add-config retention.ms=86400000</code><//>`} />`;
  }}<//><//>`;
}

const CONFIG_COLUMNS = [
  { name: "name", sort: true, cell: (row) => html`<code>${row.name}</code>` },
  { name: "value", cell: (row) => html`<b>${row.value}</b>` },
  { name: "source", sort: true },
  { name: "meaning", cell: (row) => html`<small>${row.meaning}</small>` },
];
