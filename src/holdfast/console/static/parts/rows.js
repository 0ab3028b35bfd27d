// Records as rows, and what one can do with a list of them: search, go on, follow, take along.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { A, Badge, Empty, go, Input, Note, query, topicPath } from "./bits.js";
import { bytes, count, duration, time } from "./format.js";
import { ask } from "./live.js";

const FOLLOW_MS = 1000;
const KEPT = 1000; // Rows that are shown; while following the oldest go.

// The rows of a search and its continuation: {rows, told, error, busy, more(), following, follow(on)}
export function useSearch(path, asked) {
  const [state, setState] = useState({ rows: [] });
  const [following, setFollowing] = useState(false);
  const cursor = useRef("");
  const url = path && path + query(asked);
  const take = (told, before) => {
    cursor.current = told.cursor;
    return { told, rows: [...before, ...told.rows].slice(-KEPT) };
  };
  const fail = (error) => error.name === "AbortError" || setState((before) => ({ ...before, error, busy: false }));
  useEffect(() => {
    const leaving = new AbortController();
    setState({ rows: [], busy: true });
    if (url) ask(url, { signal: leaving.signal }).then((told) => setState(take(told, [])), fail);
    else setState({ rows: [] });
    return () => leaving.abort();
  }, [url]);
  const more = () => {
    setState((before) => ({ ...before, busy: true }));
    const next = path + query({ ...asked, cursor: cursor.current });
    return ask(next).then((told) => setState((before) => take(told, before.rows)), fail);
  };
  useEffect(() => {
    if (!following) return undefined;
    const timer = setInterval(more, FOLLOW_MS);
    return () => clearInterval(timer);
  }, [following, url]);
  return { ...state, more, following, follow: setFollowing };
}

export function Search({ asked, path, partitions, children }) {
  const submit = (event) => {
    event.preventDefault();
    const said = Object.fromEntries(new FormData(event.target));
    go(path + query({ ...asked, ...said, cursor: "" }));
  };
  const text = (name, title, hint, size = 14) => html`<label>${title} <${Input} name=${name} value=${asked[name] || ""}
    placeholder=${hint} size=${size} /></label>`;
  return html`<form class="filter" role="search" onSubmit=${submit}>
    ${children}
    ${partitions && text("partition", "Partition", "all", 5)}
    ${text("from", "From", "end, start, time -10m, offset 17", 24)}
    ${text("key", "Key", "the whole key")}
    ${text("text", "Value holds", "a part of it")}
    ${text("json", "JSON path", "customer.id=17")}
    ${text("header", "Header", "trace=t-17")}
    ${text("size", "Bytes at least", "0", 8)}
    <label>State <select name="state">${["all", "committed", "aborted", "undecided"].map((each) => html`<option value=${each}
      selected=${each === (asked.state || "all")}>${each}</option>`)}</select></label>
    <button class="main-button">Search</button>
  </form>`;
}

export function Told({ search }) {
  const { told, error, busy, rows } = search;
  if (error) return html`<${Note} level="bad">${error.message}<//>`;
  if (!told) return html`<p class="busy" aria-busy="true">Reading …</p>`;
  const seen = told.looked_at;
  return html`<p class="hint" role="status"><b data-found>${count(rows.length)}</b> shown; ${count(seen.records)} records and
    ${" "}${bytes(seen.size)} looked through in ${duration(seen.seconds)}. ${told.ended ? "That is all there is."
    : `It has looked as far as ${reached(told.lanes)}: go on from here.`}${seen.unreadable ? ` ${seen.unreadable} batches cannot be read.` : ""}</p>
  <div class="filter">
    <button disabled=${busy} onClick=${search.more}>${told.ended ? "Look again" : "Go on"}</button>
    <label class="check"><input type="checkbox" checked=${search.following} onChange=${(event) => search.follow(event.target.checked)} /> follow</label>
    <button onClick=${() => save(rows, "jsonl")} disabled=${!rows.length}>Save as JSON lines</button>
    <button onClick=${() => save(rows, "csv")} disabled=${!rows.length}>Save as CSV</button>
  </div>`;
}

// How far a search has come: there is no index of keys or values, so it looks at one record after the other.
function reached(lanes) {
  if (lanes.length === 1) return `offset ${count(lanes[0].next)} of ${count(lanes[0].end)}`;
  const left = lanes.reduce((sum, each) => sum + Math.max(each.end - each.next, 0), 0);
  return `${count(left)} offsets before the ends of ${lanes.length} partitions`;
}

const COLUMNS = ["topic", "partition", "offset", "ms", "key", "value", "headers", "producer_id", "state", "place"];
const cell = (value) => `"${String(typeof value === "object" && value !== null ? JSON.stringify(value) : value ?? "").replaceAll('"', '""')}"`;

function save(rows, form) {
  const lines = form === "csv" ? [COLUMNS.join(","), ...rows.map((row) => COLUMNS.map((name) => cell(row[name])).join(","))]
    : rows.map((row) => JSON.stringify(row));
  const link = document.createElement("a");
  link.href = URL.createObjectURL(new Blob([lines.join("\n") + "\n"], { type: "text/plain" }));
  link.download = `${rows[0].topic}.${form}`;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 1000);
}

export function pretty(text, form) {
  if (form === "hex" || !/^\s*[[{]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2);
  } catch {
    return text;
  }
}

const stateOf = (row) => (row.state === "aborted" || row.state === "undecided" ? row.state : "");

export function Rows({ rows, many }) {
  if (!rows.length) return html`<${Empty} title="No record here.">What fits the search would be a row each: offset, time, key and value.<//>`;
  return html`<div class="scroll" tabindex="0" role="region" aria-label="Records"><table class="records">
    <thead><tr>${many && html`<th scope="col">topic</th>`}<th class="number" scope="col">at</th><th scope="col">time</th><th scope="col">key</th>
      <th scope="col">value</th><th class="number" scope="col">size</th><th scope="col"></th></tr></thead>
    <tbody>${rows.map((row) => html`<tr key="${row.topic}-${row.partition}-${row.offset}" class=${stateOf(row)}
      data-at="${row.partition}@${row.offset}">
      ${many && html`<td>${row.topic}</td>`}
      <td class="number"><${A} href=${topicPath(row.topic, row.partition, "records", row.offset)}>${row.partition}@${row.offset}<//></td>
      <td>${time(row.ms)}${row.late_ms > 0 && html` <${Badge} level="warn">${duration(row.late_ms / 1000)} late<//>`}</td>
      <td class="key">${row.key_form === "null" ? html`<small>null</small>` : row.key}</td>
      <td><${Value} row=${row} /></td>
      <td class="number">${bytes(row.size)}</td>
      <td>${row.state && html`<${Badge} level=${row.state === "undecided" ? "warn" : ""}>${row.state}<//>`}
        ${row.headers.map(([name, value]) => html`<${Badge}>${name}: ${value}<//>`)}<small>${row.place}, batch ${row.batch}${row.producer_id < 0 ? "" : `, producer ${row.producer_id}`}</small></td>
    </tr>`)}</tbody>
  </table></div>`;
}

// What its bytes are: one click away, for values that a schema has decoded, or could not.
function Raw({ row }) {
  const [bytes, setBytes] = useState(null);
  const read = async () => setBytes(bytes ? null : (await ask(topicPath(row.topic, row.partition, "records", row.offset))).raw);
  return html`<span> <button class="plain badge" onClick=${read} aria-expanded=${Boolean(bytes)}>raw</button>
    ${bytes && html`<code class="hex" data-raw>${bytes.replace(/(..)/g, "$1 ")}</code>`}</span>`;
}

const SCHEMAS = { avro: "Avro", protobuf: "Protobuf", json: "JSON schema" };

function Value({ row }) {
  const schema = SCHEMAS[row.form];
  return html`<${Text} row=${row} /> ${schema && html`<${Badge}>${schema}<//>`}${row.why && html`<small class="warn" data-why>${row.why}</small>`}
    ${(schema || row.why) && html`<${Raw} row=${row} />`}`;
}

function Text({ row }) {
  if (row.form === "null") return html`<small>${row.state.endsWith("marker") ? "" : "null"}</small>`;
  const text = pretty(row.value, row.form);
  if (text.length <= 120 && !text.includes("\n")) return html`<code>${text}</code>`;
  return html`<details><summary><code>${row.value.slice(0, 120)}</code></summary><pre class="value">${text}${row.cut ? " …" : ""}</pre></details>`;
}
