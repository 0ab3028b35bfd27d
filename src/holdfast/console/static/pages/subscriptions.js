import { html } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, Note, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { ago, bytes, count, duration, time } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Subscriptions() {
  return html`<${Sheet}>
    <h1>Subscriptions, sync, archive</h1>
    <${Waiting} state=${useLive("/subscriptions")}>${(data) => html`
      <${Figures}>
        <${Figure} label="Open" value=${count(data.open)} note="subscriptions at this broker" />
        <${Figure} label="Events sent" value=${count(data.events)} note=${bytes(data.size)} />
        <${Figure} label="Lag" value=${count(data.rows.reduce((sum, each) => sum + each.lag, 0))} note="offsets to go through, without what is read from the store" />
      <//>
      <${Section} title="Open subscriptions">
        <${Table} label="Subscriptions" rows=${data.rows} columns=${OPEN} empty=${html`<${Empty} title="Nobody subscribes.">Each subscription
          would be a row here, with its lag: <code>holdfast subscribe orders payments</code>.<//>`} />
      <//>
      <${Section} title="Syncs that write here" aside=${html`<small>their checkpoints, which are in this cluster</small>`}>
        <${Table} label="Syncs that write here" rows=${data.checkpoints} columns=${checkpoints(data.at_ms)} empty=${html`<${Empty}
          title="No sync writes here.">What comes from another cluster would be here, by topic, with its lag when it was last saved:
          <code>holdfast sync a.example:9092 b.example:9092</code>.<//>`} />
      <//>
      <${Section} title="Syncs, as they say themselves" aside=${html`<small>both ways, from their metrics</small>`}>
        ${data.syncs.map((each) => html`<${Sync} of=${each} now=${data.at_ms} />`)}
        ${!data.syncs.length && html`<${Empty} title="No sync was named.">Lag in time, errors and checkpoints of both ways would be here: run
          <code>holdfast sync … --metrics 127.0.0.1:9100</code> and set <code>console.sync_metrics=127.0.0.1:9100</code>.<//>`}
      <//>
      <${Section} title="Archives">
        ${data.archives_why && html`<${Note} level="warn">They cannot be read now: ${data.archives_why}<//>`}
        <${Table} label="Archives" rows=${data.archives} columns=${archives(data.at_ms)} empty=${html`<${Empty} title="No archive has reported.">
          Each would be here with what it has yet to take: <code>holdfast archive orders ./archive --path ./data --report</code>.<//>`} />
      <//>`}<//>
  <//>`;
}

const Topics = ({ names }) => names.map((name, at) => html`${at > 0 && ", "}<${A} href=${topicPath(name)}>${name}<//>`);

const OPEN = [
  { name: "who", cell: (row) => html`${row.who} <small>${row.host}</small>` },
  { name: "topics", cell: (row) => html`<${Topics} names=${row.topics} />` },
  { name: "partitions", number: true, sort: true, cell: (row) => count(row.partitions) },
  { name: "lag", title: "offsets behind", number: true, sort: true, cell: (row) => html`<b data-subscribed=${row.lag}>${count(row.lag)}</b>` },
  { name: "open_s", title: "open for", number: true, sort: true, cell: (row) => duration(row.open_s) },
];

const when = (ms, now) => html`<span title=${time(ms)}>${ago(ms, now)}</span>`;

const checkpoints = (now) => [
  { name: "source", title: "from cluster", sort: true, cell: (row) => html`<code title=${row.source}>${row.source.slice(0, 8)}</code> → here` },
  { name: "topic", sort: true, cell: (row) => html`<${A} href=${topicPath(row.topic)}>${row.topic}<//>` },
  { name: "partitions", number: true, sort: true, cell: (row) => count(row.partitions) },
  { name: "lag", title: "offsets behind then", number: true, sort: true, cell: (row) => html`<b data-synced=${row.topic}>${count(row.lag)}</b>` },
  { name: "saved_at_ms", title: "last checkpoint", number: true, sort: true, cell: (row) => when(row.saved_at_ms, now) },
];

function Sync({ of, now }) {
  if (of.why) return html`<${Note} level="warn">${of.why}<//>`;
  if (!of.directions.length) return html`<${Note}>The sync at ${of.address} has copied nothing yet.<//>`;
  const rows = of.directions.flatMap((each) => each.topics.map((topic) => ({ ...each, ...topic })));
  return html`<${Table} label="The sync at ${of.address}" rows=${rows} columns=${direction(now)} empty=${html`<${Empty}
    title="The sync at ${of.address}">It has no topic that may be seen.<//>`} />`;
}

const direction = (now) => [
  { name: "direction", sort: true, cell: (row) => html`<span data-direction=${row.direction}>${row.direction}</span>` },
  { name: "topic", sort: true },
  { name: "records", title: "records copied", number: true, sort: true, cell: (row) => count(row.records) },
  { name: "lag", title: "offsets behind", number: true, sort: true, cell: (row) => count(row.lag) },
  { name: "lag_s", title: "lag in time", number: true, sort: true, cell: (row) => (row.lag === 0 ? "none" : duration(row.lag_s)) },
  { name: "held", title: "waits", number: true, cell: (row) => (row.held ? html`<${Badge} level="warn">${count(row.held)} partitions<//>` : "") },
  { name: "errors", number: true, cell: (row) => (row.errors ? html`<${Badge} level="warn">${count(row.errors)}<//>` : "none") },
  { name: "last_checkpoint_s", title: "last checkpoint", number: true, cell: (row) => when(row.last_checkpoint_s ? row.last_checkpoint_s * 1000 : null, now) },
];

const archives = (now) => [
  { name: "target", sort: true, cell: (row) => html`<code>${row.target || "?"}</code>` },
  { name: "topics", cell: (row) => html`<span class="said"><${Topics} names=${row.topics} /></span> ${row.gone > 0 && html`<${Badge}>${count(row.gone)} partitions are gone<//>`}` },
  { name: "lag", title: "offsets behind", number: true, sort: true, cell: (row) => html`<b data-archived=${row.target}>${count(row.lag)}</b>` },
  { name: "at_ms", title: "last run", number: true, sort: true, cell: (row) => when(row.at_ms, now) },
  { name: "is_good", title: "", cell: (row) => html`<${Badge} level=${row.is_good ? "ok" : "bad"}>${row.is_good ? "good" : "failed"}<//>` },
  { name: "said", title: "it said", cell: (row) => html`<span class="said">${row.said}</span> <small>on ${row.host}</small>` },
];
