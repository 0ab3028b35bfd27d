import { html } from "../vendor/preact.js";
import { A, Badge, Empty, go, path, query, Sheet, Waiting } from "../parts/bits.js";
import { count } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Pager, Table } from "../parts/table.js";

const level = (state) => (state === "Stable" ? "ok" : state === "Empty" ? "" : "warn");

export default function Groups({ query: asked, address }) {
  const change = (values) => go("/groups" + query({ ...asked, start: "", ...values }));
  return html`<${Sheet}>
    <h1>Groups</h1>
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Filter <input type="search" value=${asked.filter || ""} placeholder="a part of the name"
        onInput=${(event) => change({ filter: event.target.value })} /></label>
    </form>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      <${Table} label="Groups" rows=${data.rows} columns=${COLUMNS} empty=${html`<${Empty}
        title=${asked.filter ? `No group has ${asked.filter} in its name.` : "There is no group yet."}>Each would be a row here, with its
        lag. A consumer makes one: <code>holdfast consume orders --group billing</code>.<//>`} />
      <${Pager} start=${data.start} count=${data.rows.length} all=${data.found} onMove=${(start) => change({ start })} />`}<//>
  <//>`;
}

const COLUMNS = [
  { name: "group", sort: true, cell: (row) => (row.type === "share" ? row.group : html`<${A} href=${path("groups", row.group)}>${row.group}<//>`) },
  { name: "state", sort: true, cell: (row) => html`<${Badge} level=${level(row.state)}>${row.state}<//>` },
  { name: "type", sort: true },
  { name: "members", number: true, sort: true, cell: (row) => count(row.members) },
  { name: "partitions", number: true, sort: true, cell: (row) => count(row.partitions) },
  { name: "lag", title: "lag in records", number: true, sort: true, cell: (row) => count(row.lag) },
  { name: "topics", cell: (row) => row.topics.join(", ") },
];
