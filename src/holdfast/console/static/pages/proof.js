import { html, useState } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, Input, Meter, Note, query, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { ago, bytes, count, duration, millis, time } from "../parts/format.js";
import { ask, useLive, useOnce } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Proof({ query: asked }) {
  return html`<${Sheet}>
    <h1>Proof</h1>
    <${Verify} asked=${asked} />
    <${Waiting} state=${useLive("/proof")}>${(data) => html`
      <${Figures}>
        <${Figure} label="Damage met" value=${count(data.damage_met)} note="reads that met bytes which are not what was written" />
        <${Figure} label="Batches mended" value=${count(data.mended)} note="changed in memory, taken from the write-ahead log" />
        <${Figure} label="Stepped over" value=${count(data.unreadable.subscription + data.unreadable.compaction)} note="batches that nobody can read" />
        <${Figure} label="Clock" value=${millis(data.clock_apart_ms)} note="ahead of the time that has passed" />
        <${Figure} label="Owner" value=${data.is_owner ? "this broker" : "another"} note="${count(data.owner_looks)} looks, ${count(data.owner_failures)} without an answer" />
      <//>
      <${Section} title="Not served, or damaged">
        ${data.damaged.map((each) => html`<${Note} level="bad"><${A} href=${topicPath(each.topic)}>${each.topic}<//>: ${each.objects} objects<//>`)}
        <${Table} label="Partitions that are not served" rows=${data.failed} columns=${FAILED} empty=${html`<${Empty}
          title="Every partition is served, and none is known to be damaged.">What is found here, or by a reader, would be listed with the object
          and the byte.<//>`} />
      <//>
`}<//>
    <${Reports} /><//>`;
}

// What was run beside the broker has left its last word in the store.
function Reports() {
  return html`<${Section} title="Last audit, backup, repair and doctor">
    <${Waiting} state=${useOnce("/proof/reports")}>${(data) => html`<${Table} label="Reports" rows=${data.rows} columns=${REPORTS(data.at_ms)}
      empty=${html`<${Empty} title="None has left its result here."><code>holdfast audit</code> counts what was delivered, <code>holdfast backup</code>
        copies all of it, <code>holdfast log verify</code> holds every stored byte against its crcs, <code>holdfast doctor</code> looks at the machine: with <code>--report</code> what each said last will be here.<//>`} />`}<//>
  <//>`;
}

const REPORTS = (now) => [
  { name: "kind", title: "what" },
  { name: "at_ms", title: "when", cell: (row) => html`<span title=${time(row.at_ms)}>${ago(row.at_ms, now)}</span>` },
  { name: "is_good", title: "", cell: (row) => html`<${Badge} level=${row.is_good ? "ok" : "bad"}>${row.is_good ? "good" : "not good"}<//>` },
  { name: "said", title: "it said", cell: (row) => html`${row.said}<${Findings} of=${row} />` },
  { name: "host", title: "on" },
];

const AUDITED = [
  { name: "partition", cell: (row) => html`<span data-audited=${row.partition}>${row.partition}</span>` },
  { name: "delivered", number: true, cell: (row) => `${row.delivered} %` },
  { name: "missing", title: "offsets missing", number: true, cell: (row) => count(row.missing) },
  { name: "duplicates", number: true, cell: (row) => count(row.duplicates) },
  { name: "problems", number: true, cell: (row) => (row.problems ? html`<${Badge} level="bad">${count(row.problems)}<//>` : "none") },
];

function Audited({ facts }) {
  const rows = Object.entries(facts).map(([partition, [delivered, missing, duplicates, problems]]) => ({ partition, delivered, missing, duplicates, problems }));
  return html`<details><summary>by partition</summary><${Table} label="Audited partitions" rows=${rows} columns=${AUDITED} /></details>`;
}

// What the doctor has found, what needs something first; an audit by partition.
function Findings({ of }) {
  if (of.kind === "audit" && Object.keys(of.facts).length) return html`<${Audited} facts=${of.facts} />`;
  if (of.kind !== "doctor") return null;
  const found = Object.entries(of.facts).sort(([, a], [, b]) => (a[0] === "ok") - (b[0] === "ok"));
  return html`<ul class="findings">${found.map(([check, [state, what, todo]]) => html`<li data-finding=${check}>
    <${Badge} level=${state === "missing" ? "bad" : state === "advice" ? "warn" : "ok"}>${check}<//> ${what}${todo && html` <b>→ ${todo}</b>`}</li>`)}</ul>`;
}

const FAILED = [
  { name: "topic", cell: (row) => html`<${A} href=${topicPath(row.topic)}>${row.topic}-${row.partition}<//>` },
  { name: "why" },
];

// One partition, a part at a time, with its progress.
function Verify({ asked }) {
  const [state, setState] = useState(null);
  const run = async (event) => {
    event.preventDefault();
    const { topic, partition } = Object.fromEntries(new FormData(event.target));
    let sum = { size: 0, records: 0, segments: 0, seconds: 0, findings: [], name: `${topic}-${partition}` };
    setState(sum);
    try {
      for (let next = ""; next !== null; ) {
        const told = await ask(topicPath(topic, partition, "verify") + query({ from: next }));
        next = told.next;
        sum = { ...sum, all_size: told.all_size, flushed: told.flushed, is_done: next === null, size: sum.size + told.size,
          records: sum.records + told.records, segments: sum.segments + told.segments, seconds: sum.seconds + told.seconds,
          findings: [...sum.findings, ...told.findings] };
        setState(sum);
      }
    } catch (failure) {
      setState({ ...sum, failure });
    }
  };
  return html`<${Section} title="Verify a partition now">
    <form class="filter" onSubmit=${run}>
      <label>Topic <${Input} name="topic" value=${asked.topic || ""} required /></label>
      <label>Partition <${Input} name="partition" value=${asked.partition || "0"} size="5" required /></label>
      <button class="main-button" disabled=${state && !state.is_done && !state.failure}>Verify</button>
    </form>
    ${state && html`<${Verdict} of=${state} />`}
  <//>`;
}

function Verdict({ of }) {
  if (of.failure) return html`<${Note} level="bad">${of.failure.message}<//>`;
  const seen = `${count(of.records)} records in ${count(of.segments)} segments, ${bytes(of.size)}, in ${duration(of.seconds)}`;
  return html`<div data-verdict=${of.is_done ? (of.findings.length ? "damaged" : "sound") : "running"}>
    <${Meter} value=${of.size} most=${of.all_size || 1} label="Progress" />
    ${of.findings.map((each) => html`<${Note} level="bad"><code>${each.object}</code>: ${each.what}<//>`)}
    ${of.is_done ? !of.findings.length && html`<${Note} level="ok"><b>${of.name} is sound</b> below ${count(of.flushed)}: ${seen}. What is not flushed
      yet is in the write-ahead log.<//>` : html`<p class="busy" aria-busy="true">${seen} so far …</p>`}
    ${of.is_done && of.findings.length > 0 && html`<${Badge} level="bad">${of.findings.length} findings<//>`}
  </div>`;
}
