import { html } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, path, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { Chart } from "../parts/chart.js";
import { Change } from "../parts/change.js";
import { ago, count, duration, rate, time } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Group({ names, address }) {
  return html`<${Sheet}>
    <h1><${A} href="/groups">Groups<//> <span aria-hidden="true">›</span> ${names.group}</h1>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      ${data.may.delete && !data.members.length && html`<p><${Change} title="Delete the group" danger name=${data.group}
        url=${path("groups", data.group, "delete")} text="Its committed offsets go with it." /></p>`}
      <${Figures}>
        <${Figure} label="State" value=${data.state} note="${data.type} group, ${data.members.length} members" />
        <${Figure} label="Lag" value=${html`<span data-lag=${data.lag}>${count(data.lag)}</span>`} note="records to be read" />
        <${Figure} label="Lag in time" value=${data.lag === 0 ? "none" : duration(data.lag_s)} note="age of the oldest record to be read next" />
        <${Figure} label="Reads" value=${rate(data.reads, "rec")} note="written meanwhile: ${rate(data.writes, "rec")}" />
        <${Figure} label="Caught up in" value=${data.lag === 0 ? "now" : duration(data.caught_up_s)}
          note=${data.caught_up_s === null && data.lag ? "not at this speed, or not known yet" : "at this speed"} />
      <//>
      <${Chart} label="Lag of the last hour" times=${data.history.at_ms} unit=${(value) => `${count(value)} records`}
        series=${[{ name: "lag", title: "behind", values: data.history.lag }]} />
      <${Section} title="Partitions">
        <${Table} label="Partitions" rows=${data.rows} columns=${columns(data.at_ms)} empty=${html`<${Empty}
          title="Nothing is committed.">Each partition that the group commits an offset of would be a row here.<//>`} />
      <//>
      <${Section} title="Why it moved on" aside=${html`<small>the last ten times since this broker started</small>`}>
        <${Table} label="Why it moved on" rows=${data.moves} columns=${moves(data.at_ms)} empty=${html`<${Empty}
          title="It has not, since this broker started.">Each time members have to share the partitions anew would be here, with its reason.<//>`} />
      <//>
      <${Section} title="Members">
        <${Table} label="Members" rows=${data.members} columns=${MEMBERS} empty=${html`<${Empty} title="Nobody is in the group now.">
          Its offsets stay, and whoever joins goes on from there.<//>`} />
      <//>`}<//>
  <//>`;
}

const columns = (now) => [
  { name: "topic", cell: (row) => html`<${A} href=${topicPath(row.topic, row.partition)}>${row.topic}-${row.partition}<//>` },
  { name: "committed", number: true, cell: (row) => html`${count(row.committed)} ${row.is_stable === false && html`<${Badge} level="warn">undecided<//>`}
    ${row.expired && html`<${Badge} level="bad">gone by retention<//>`}` },
  { name: "end", title: "high watermark", number: true, cell: (row) => count(row.end) },
  { name: "lag", number: true, sort: true, cell: (row) => html`<b data-partition-lag=${row.lag}>${count(row.lag)}</b>` },
  { name: "lag_s", title: "lag in time", number: true, sort: true, cell: (row) => (row.lag === 0 ? "none" : duration(row.lag_s)) },
  { name: "next_ms", title: "next record", cell: (row) => (row.lag ? time(row.next_ms) : "") },
  { name: "committed_ms", title: "committed", cell: (row) => ago(row.committed_ms, now) },
];

const moves = (now) => [
  { name: "at_ms", title: "when", cell: (row) => html`<span title=${time(row.at_ms)}>${ago(row.at_ms, now)}</span>` },
  { name: "why", title: "because" },
];

const MEMBERS = [
  { name: "client" },
  { name: "host" },
  { name: "member", cell: (row) => html`<code>${row.member}</code>` },
  { name: "assigned", cell: (row) => row.assigned.join(", ") || "nothing" },
];
