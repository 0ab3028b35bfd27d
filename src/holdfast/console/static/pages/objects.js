import { html } from "../vendor/preact.js";
import { A, Badge, Empty, query, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { bytes, time } from "../parts/format.js";
import { useOnce } from "../parts/live.js";
import { Table } from "../parts/table.js";

const at = (values) => "/store/objects" + query(values);

export default function Objects({ query: asked, address }) {
  return html`<${Sheet}>
    <h1><${A} href="/store">Store<//> <span aria-hidden="true">›</span> ${asked.name || asked.prefix}</h1>
    <${Waiting} state=${useOnce(address)}>${(data) => (data.name ? html`<${Content} data=${data} />` : html`<${List} data=${data} />`)}<//>
  <//>`;
}

const Content = ({ data }) => html`<p class="hint">${bytes(data.size)} ${data.is_cut && html`<${Badge} level="warn">cut<//>`}</p>
  <pre class="value">${data.text}</pre>`;

function List({ data }) {
  const cell = (row) => {
    const name = html`<code>${row.name}</code>`;
    if (row.name.endsWith(".json")) return html`<${A} href=${at({ name: row.name })}>${name}<//>`;
    if (!row.segment_of) return name;
    const [topic, partition, base] = row.segment_of;
    return html`<${A} href=${topicPath(topic, partition, "segments", base)}>${name}<//> <small>${topic}-${partition}</small>`;
  };
  return html`<${Table} label="Objects" rows=${data.rows} columns=${[
      { name: "name", sort: true, cell },
      { name: "size", number: true, sort: true, cell: (row) => bytes(row.size) },
      { name: "modified_ms", title: "stored", sort: true, cell: (row) => time(row.modified_ms) },
    ]} empty=${html`<${Empty} title="Nothing has a name that begins so.">Segments come with the first flush.<//>`} />
    ${data.next && html`<p><${A} href=${at({ prefix: data.prefix, after: data.next })}>What comes behind ${data.next}<//></p>`}`;
}
