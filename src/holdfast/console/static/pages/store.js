import { html } from "../vendor/preact.js";
import { A, Badge, Empty, Figure, Figures, Section, Sheet, Waiting } from "../parts/bits.js";
import { bytes, count, duration, millis } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

const KINDS = ["meta/", "manifests/", "segments/", "owner/"];

export default function Store() {
  return html`<${Sheet}>
    <h1>Store</h1>
    <${Waiting} state=${useLive("/store")}>${(data) => html`
      <p><code>${data.url}</code></p>
      <${Figures}>
        <${Figure} label="Put" value=${bytes(data.sizes.put || 0)} note="${count(data.flushes)} flushes" />
        <${Figure} label="Got" value=${bytes(data.sizes.get || 0)} note="since the start" />
        <${Figure} label="Block cache" value=${bytes(data.cache.size)} note="${count(data.cache.hits)} blocks were there, ${count(data.cache.misses)} not" />
        <${Figure} label="Deleted topics" value=${count(data.deletions.count)} note=${data.deletions.count
          ? `something is left of them, for ${duration(data.deletions.age_s)}` : "nothing is left of any"} />
        <${Figure} label="Garbage" value=${count(data.garbage)} note="objects that nothing needs, until they are old enough to go" />
        <${Figure} label="Damage met" value=${count(data.damage.met)} note="${count(data.damage.mended)} batches mended" level=${data.damage.met ? "bad" : ""} />
        <${Figure} label="Looks at the owner" value=${count(data.owner.looks)} note="${count(data.owner.failures)} without an answer" />
      <//>
      <${Section} title="Calls" aside=${html`<small>a call's time has its retries in it: the store's client does not tell them</small>`}>
        <${Table} label="Calls" rows=${data.calls} columns=${CALLS} empty=${html`<${Empty} title="The store was not asked anything yet.">A flush
          puts a segment and a manifest.<//>`} />
      <//>
      <${Section} title="Objects">
        <ul class="links">${KINDS.map((each) => html`<li><${A} href="/store/objects?prefix=${each}"><code>${each}</code><//></li>`)}</ul>
      <//>`}<//>
  <//>`;
}

const CALLS = [
  { name: "operation", sort: true },
  { name: "kind", sort: true, cell: (row) => html`<code>${row.kind}</code>` },
  { name: "count", title: "calls", number: true, sort: true, cell: (row) => count(row.count) },
  { name: "mean_ms", title: "mean", number: true, sort: true, cell: (row) => millis(row.mean_ms) },
  { name: "half_ms", title: "half within", number: true, cell: (row) => millis(row.half_ms) },
  { name: "most_ms", title: "99 % within", number: true, cell: (row) => millis(row.most_ms) },
  { name: "failures", number: true, sort: true, cell: (row) => (row.failures ? html`<${Badge} level="bad">${row.failures}<//>` : "0") },
];
