import { html } from "../vendor/preact.js";
import { A, Badge, Empty, go, path, query, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { Change } from "../parts/change.js";
import { ago, count, duration, millis } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Pager, Table } from "../parts/table.js";

export default function Transactions({ query: asked, address }) {
  const change = (values) => go("/transactions" + query({ ...asked, start: "", ...values }));
  return html`<${Sheet}>
    <h1>Transactions</h1>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      <p class="hint">Ended since the start: ${count(data.ended.CompleteCommit || 0)} committed, ${count(data.ended.CompleteAbort || 0)} aborted.</p>
      <${Table} label="Transactions" rows=${data.rows} columns=${columns(data.at_ms)} empty=${html`<${Empty} title="No transactional id is known.">
        A producer with <code>transactional.id</code> makes one; what it holds back would be here.<//>`} />
      <${Pager} start=${data.start} count=${data.rows.length} all=${data.found} onMove=${(start) => change({ start })} />`}<//>
  <//>`;
}

const columns = (now) => [
  { name: "id", title: "transactional id", sort: true, cell: (row) => html`<b>${row.id}</b>` },
  { name: "state", sort: true, cell: (row) => html`<${Badge} level=${row.state === "Ongoing" ? "warn" : ""}>${row.state}<//>` },
  { name: "age_s", title: "open for", number: true, sort: true, cell: (row) => (row.age_s === null ? "" : html`${duration(row.age_s)}
    <small> of ${millis(row.timeout_ms)}</small>`) },
  { name: "held_back", title: "held back", number: true, sort: true, cell: (row) => (row.held_back ? html`<b
    data-held-back=${row.held_back}>${count(row.held_back)}</b> records` : "") },
  { name: "partitions", cell: (row) => row.partitions.map((each) => html`<${A} href=${topicPath(each.topic, each.partition)}>
    ${each.topic}-${each.partition}<//> ${each.first_offset !== null && html`<small>from ${count(each.first_offset)} </small>`}`) },
  { name: "producer_id", title: "producer", number: true, cell: (row) => `${row.producer_id}, epoch ${row.epoch}` },
  { name: "may", title: "", cell: (row) => row.may.end && html`<${Change} title="End it" danger name=${row.id} url=${path("transactions", row.id, "end")}
    text="Its producer is fenced, and what it has written since it began is aborted." />` },
  { name: "changed_ms", title: "changed", number: true, sort: true, cell: (row) => ago(row.changed_ms, now) },
];
