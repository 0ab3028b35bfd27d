import { html } from "../vendor/preact.js";
import { A, Badge, Empty, go, path, query, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { Change } from "../parts/change.js";
import { ago, bytes, count, duration, rate, short } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Pager, Table } from "../parts/table.js";

export default function Topics({ query: asked, address }) {
  const state = useLive(address);
  const change = (values) => go("/topics" + query({ ...asked, start: "", ...values }));
  return html`<${Sheet}>
    <h1>Topics</h1>
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Filter <input type="search" name="filter" value=${asked.filter || ""} placeholder="a part of the name"
        onInput=${(event) => change({ filter: event.target.value })} /></label>
      <label class="check"><input type="checkbox" checked=${asked.internal === "true"}
        onChange=${(event) => change({ internal: event.target.checked ? "true" : "" })} /> internal, too</label>
    </form>
    <${Waiting} state=${state}>${(data) => html`
      ${data.may.create && html`<p><${Change} title="Make a topic" url="/topics" fields=${NEW}
        make=${(said) => ({ name: said.name, partitions: Number(said.partitions) })} /></p>`}
      <${Table} label="Topics" rows=${data.rows} columns=${columns(data.at_ms)} sort=${asked.sort || "name"}
        onSort=${(sort) => change({ sort })} empty=${html`<${None} asked=${asked} all=${data.all} />`} />
      <${Pager} start=${data.start} count=${data.rows.length} all=${data.found} onMove=${(start) => change({ start })} />`}<//><//>`;
}

const NEW = [{ name: "name", title: "Name", required: true }, { name: "partitions", title: "Partitions", value: 1, kind: "number", min: 1 }];

const None = ({ asked, all }) =>
  asked.filter
    ? html`<${Empty} title="No topic has ${asked.filter} in its name.">${all} are there, internal ones included.<//>`
    : html`<${Empty} title="There is no topic yet.">Each will be a row here, with its records, its bytes and its age. Make one:
        <code>holdfast topic create orders --partitions 3</code>, or let a producer write to one.<//>`;

const columns = (now) => [
  { name: "name", sort: true, cell: (row) => html`<${A} href=${topicPath(row.name)}>${row.name}<//> <${Tags} row=${row} />` },
  { name: "partitions", number: true, sort: true, cell: (row) => count(row.partitions) },
  { name: "records", number: true, sort: true, cell: (row) => html`<span title=${count(row.records)}>${short(row.records)}</span>` },
  { name: "size", number: true, sort: true, cell: (row) => bytes(row.size) },
  { name: "rate", number: true, sort: true, cell: (row) => rate(row.rate, "rec") },
  { name: "groups", number: true, cell: (row) => count(row.groups) },
  { name: "lag", title: "largest lag", number: true, cell: (row) => row.behind !== null &&
    html`<${A} href=${path("groups", row.behind)} title="of the group ${row.behind}">${count(row.lag)}<//>` },
  { name: "newest_ms", title: "newest record", number: true, sort: true, cell: (row) => ago(row.newest_ms, now) },
  { name: "oldest_unflushed_s", title: "oldest unflushed", number: true, sort: true,
    cell: (row) => (row.unflushed ? duration(row.oldest_unflushed_s) : "none") },
];

function Tags({ row }) {
  return html`
    ${row.durability === "memory" && html`<${Badge} level="warn">in memory<//>`}
    ${row.compacted && html`<${Badge}>compacted<//>`}
    ${row.internal && html`<${Badge}>internal<//>`}
    ${row.open_transactions > 0 && html`<${Badge} level="warn">${row.open_transactions} undecided<//>`}
    ${row.failed > 0 && html`<${Badge} level="bad">${row.failed} not served<//>`}
    ${row.damaged > 0 && html`<${Badge} level="bad">${row.damaged} damaged<//>`}
    ${Object.entries(row.configs).map(([name, value]) => html`<${Badge}>${name}=${value}<//>`)}`;
}
