import { html, useState } from "../vendor/preact.js";
import { A, Badge, Figure, Figures, Note, Section, Sheet, topicPath, Waiting } from "../parts/bits.js";
import { bytes, count, time } from "../parts/format.js";
import { useOnce } from "../parts/live.js";
import { pretty } from "../parts/rows.js";
import { Table } from "../parts/table.js";

export default function Record({ names, address }) {
  const { topic, partition, offset } = names;
  const [raw, setRaw] = useState(false);
  return html`<${Sheet}>
    <h1><${A} href=${topicPath(topic)}>${topic}<//> <span aria-hidden="true">›</span>
      <${A} href=${topicPath(topic, partition)}> partition ${partition}<//> <span aria-hidden="true">›</span> offset ${count(+offset)}</h1>
    <${Waiting} state=${useOnce(address)}>${(data) => html`
      <${Figures}>
        <${Figure} label="Time" value=${time(data.ms).slice(11)} note=${time(data.ms)} />
        <${Figure} label="Value" value=${bytes(data.size)} note=${data.form} />
        <${Figure} label="Batch" value=${count(data.batch)} note=${data.producer_id < 0 ? "no idempotent producer" : `producer ${data.producer_id}`} />
        <${Figure} label="State" value=${data.state || "committed"} note="leader epoch ${data.epoch}" />
      <//>
      <${Section} title="Key"><pre class="value">${data.key_form === "null" ? "null" : data.key}</pre><//>
      <${Section} title="Value" aside=${html`<label class="check"><input type="checkbox" checked=${raw}
        onChange=${(event) => setRaw(event.target.checked)} /> raw bytes</label>`}>
        <pre class="value">${raw ? data.raw.replace(/(..)/g, "$1 ") : data.form === "null" ? "null" : pretty(data.value, data.form)}</pre>
        ${data.why && html`<${Note} level="warn">Its bytes, as they are: ${data.why}<//>`}
        ${data.cut && html`<${Badge} level="warn">cut: only the first mebibyte is shown<//>`}
      <//>
      ${data.headers.length > 0 && html`<${Section} title="Headers"><${Table} label="Headers" rows=${data.headers}
        columns=${[{ name: "0", title: "name" }, { name: "1", title: "value" }]} /><//>`}
      <p><${A} href="${topicPath(topic, "records")}?partition=${partition}&from=offset+${Math.max(offset - 10, 0)}">What is around it<//></p>`}<//>
  <//>`;
}
