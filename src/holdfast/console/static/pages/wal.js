import { html } from "../vendor/preact.js";
import { Empty, Figure, Figures, Meter, Note, Section, Sheet, Waiting } from "../parts/bits.js";
import { Bars, Chart, Strip } from "../parts/chart.js";
import { bytes, clock, count, duration, many, millis, rate } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

const PINS = [
  { name: "partition" },
  { name: "age_s", title: "oldest entry", number: true, cell: (row) => duration(row.age_s) },
  { name: "own_size", title: "its own bytes", number: true, cell: (row) => bytes(row.own_size) },
  { name: "size", title: "log from there on", number: true, cell: (row) => bytes(row.size) },
];

const CHUNKS = [
  { name: "first", title: "from entry", number: true, cell: (row) => html`<span data-chunk=${row.first}>${count(row.first)}</span>` },
  { name: "size", title: "bytes", number: true, cell: (row) => bytes(row.size) },
  { name: "pinned_by", title: "kept by", cell: (row) => row.pinned_by.join(", ") || "nobody: it lies behind one that is kept, or is written to" },
];

export default function Wal() {
  return html`<${Sheet}><h1>Write-ahead log</h1>
    <p class="hint">One write and one fsync make durable whatever producers have sent meanwhile: that is a round. Only then are they answered.</p>
    <${Waiting} state=${useLive("/wal")}>${(data) => html`
      ${data.held_back && html`<${Note} level="warn">Producers are held back: ${data.held_back}.<//>`}
      <${Figures}>
        <${Figure} label="Rounds" value=${count(data.rounds_all)} note="since the start" />
        <${Figure} label="Fsync" value=${millis(data.fsync.mean_ms)} note="on average; 99 % within ${millis(data.fsync.most_ms)}" />
        <${Figure} label="On disk" value=${bytes(data.size)} note=${html`${many(data.chunks, "chunk")}, of ${bytes(data.size_max)}
          <${Meter} value=${data.size} most=${data.size_max} label="Write-ahead log" />`} />
        <${Figure} label="Waits to be written" value=${bytes(data.queued_size)} note="${count(data.end - data.durable)} bytes are not durable yet" />
        <${Figure} label="Read again if killed now" value=${bytes(data.kept_size)} note=${!data.kept_size ? "nothing: all is in segments"
          : html`${data.replay_s !== null && html`about ${duration(data.replay_s)} at the speed of the last start; `}${data.kept_for}`} />
        <${Figure} label="Flushed" value=${bytes(data.flushed_size)} note="in ${count(data.flushes)} flushes" />
      <//>
      <${Section} title="Rounds, newest right">
        ${data.rounds.length ? html`<div class="charts">
          <${Strip} items=${data.rounds} label="Fsync time" unit=${millis} value=${(each) => each.ms}
            title=${(each) => `${clock(each.at_ms)}: ${millis(each.ms)}, ${bytes(each.size)}`} />
          <${Strip} items=${data.rounds} label="Bytes written in a round" unit=${bytes} value=${(each) => each.size}
            title=${(each) => `${clock(each.at_ms)}: ${bytes(each.size)} in ${millis(each.ms)}`} />
          <${Strip} items=${data.told} label="Entries made durable together" unit=${count} value=${(each) => each}
            title=${(each) => `${count(each)} entries, whose producers were answered at once`} />
        </div>` : html`<p class="hint">No round yet: the first record makes one.</p>`}
      <//>
      <${Section} title="What keeps it" aside=${html`<small>partitions whose oldest entries are in no segment yet</small>`}>
        <${Table} label="What keeps it" rows=${data.pins} columns=${PINS} empty=${html`<${Empty} title="Nothing.">All that was
          acknowledged is in segments: each chunk may go.<//>`} />
      <//>
      <${Section} title="Chunks" aside=${html`<small>the oldest first; ${count(data.chunks)} in all, the last is written to</small>`}>
        <${Table} label="Chunks" rows=${data.chunk_rows} columns=${CHUNKS} empty=${html`<${Empty} title="None on this disk.">The log is in the store.<//>`} />
      <//>
      <div class="charts">
        <${Bars} label="How long fsyncs took, all since the start" buckets=${data.buckets} unit=${millis} />
        <${Chart} label="Rounds" times=${data.history.at_ms} unit=${(value) => rate(value, "rounds")}
          series=${[{ name: "rounds", title: "durable", values: data.history.rounds }]} />
      </div>
      <p class="hint">The open chunk is <code>${data.open_chunk}</code>, ${bytes(data.open_chunk_size)}; durable up to position ${count(data.durable)}.</p>`}<//><//>`;
}
