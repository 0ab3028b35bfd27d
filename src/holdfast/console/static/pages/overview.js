import { html } from "../vendor/preact.js";
import { Badge, Figure, Figures, Meter, Section, Sheet, Waiting } from "../parts/bits.js";
import { Chart } from "../parts/chart.js";
import { byteRate, bytes, count, duration, many, millis, rate, short } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Overview() {
  return html`<${Sheet}><${Waiting} state=${useLive("/")}>${(data) => html`
    <${Health} findings=${data.findings} />
    <${Numbers} of=${data.figures} />
    <${Lines} history=${data.history} />
    <${Section} title="What clients ask">
      <${Table} label="Requests by API" rows=${data.apis} columns=${API_COLUMNS}
        empty=${html`<p class="hint">Nobody has asked anything yet: point a Kafka client at this broker.</p>`} />
    <//>
    <${Section} title="Brokers">
      <${Table} label="Brokers" rows=${data.brokers} columns=${BROKER_COLUMNS} />
    <//>`}<//><//>`;
}

function Health({ findings }) {
  const [first, ...others] = findings;
  return html`<section class="health ${first.level}" aria-label="Health">
    <h1><i class="dot" aria-hidden="true"></i><span data-headline>${first.text}</span></h1>
    ${others.map((each) => html`<p class=${each.level}>${each.text}</p>`)}
  </section>`;
}

function Numbers({ of }) {
  return html`<${Figures} wide>
    <${Figure} label="Topics" value=${count(of.topics)} note=${many(of.partitions, "partition")} />
    <${Figure} label="Records" value=${short(of.records)} note="${bytes(of.size)}, ${rate(of.rate, "records")}" />
    <${Figure} label="Connections" value=${count(of.connections)} note="of Kafka clients" />
    <${Figure} label="Until producers wait" value=${bytes(of.until_held_back)} note=${html`${`the write-ahead log has ${bytes(of.wal_size)} of ${bytes(of.wal_size_max)}`} <${Meter} value=${of.wal_size} most=${of.wal_size_max} label="Write-ahead log" />`} />
    <${Figure} label="Store" value=${of.store_away_s === null ? "answers" : `away for ${duration(of.store_away_s)}`} level=${of.store_away_s === null ? "" : "bad"}
      note="${many(of.store_failures, "call")} failed since the start${of.bearable_s === null ? "" : `; at this rate it may be away for ${duration(of.bearable_s)}`}" />
    <${Figure} label="Not in segments yet" value=${bytes(of.tail_size)} note=${html`in memory, of ${bytes(of.tail_size_max)}
      <${Meter} value=${of.tail_size} most=${of.tail_size_max} label="Tails in memory" />`} />
    <${Figure} label="Block cache" value=${bytes(of.cache_size)} note=${html`of ${bytes(of.cache_size_max)}
      <${Meter} value=${of.cache_size} most=${Infinity} label="Block cache" />`} />
    <${Figure} label="Disk free" value=${bytes(of.disk_free)} note=${of.data} />
    <${Figure} label="Memory" value=${bytes(of.memory)} note="of the process" />
  <//>`;
}

function Lines({ history }) {
  const line = (name, title) => ({ name, title, values: history[name] });
  return html`<div class="charts">
    <${Chart} label="Bytes" times=${history.at_ms} unit=${byteRate}
      series=${[line("produce_bytes", "produced"), line("fetch_bytes", "fetched")]} />
    <${Chart} label="Records" times=${history.at_ms} unit=${(value) => rate(value, "records")} series=${[line("records", "appended")]} />
    <${Chart} label="Requests" times=${history.at_ms} unit=${(value) => rate(value, "requests")} series=${[line("requests", "answered"), line("errors", "errors in answers")]} />
    <${Chart} label="Fsync" times=${history.at_ms} unit=${millis} series=${[line("fsync_ms", "mean of the last 100")]} />
  </div>`;
}

const API_COLUMNS = [
  { name: "api", title: "API", sort: true },
  { name: "requests", number: true, sort: true, cell: (row) => count(row.requests) },
  { name: "errors", title: "errors", cell: (row) => Object.entries(row.errors).map(([code, number]) => html`<${Badge} level="warn">${code} ${count(number)}<//>`) },
  { name: "mean_ms", title: "mean time", number: true, sort: true, cell: (row) => millis(row.mean_ms) },
  { name: "received", number: true, sort: true, cell: (row) => bytes(row.received) },
  { name: "sent", number: true, sort: true, cell: (row) => bytes(row.sent) },
];

const BROKER_COLUMNS = [
  { name: "node", cell: (row) => html`${row.node}${row.is_this && html` <${Badge}>this one<//>`}` },
  { name: "place" },
  { name: "claim", title: "what it does", cell: (row) => (row.is_this ? html`<${Badge}
    level=${row.is_owner ? "ok" : "bad"}>${row.is_owner ? "leads" : "taken over"}<//> claim ${row.claim} of the store`
    : html`<${Badge} level=${row.silent_s > 2 ? "warn" : ""}>${row.silent_s > 2 ? `silent for ${row.silent_s} s` : "ready to take over"}<//>
      Kafka clients at ${row.address}`) },
  { name: "incarnation", cell: (row) => html`<code>${row.incarnation.slice(0, 12)}</code>` },
];

