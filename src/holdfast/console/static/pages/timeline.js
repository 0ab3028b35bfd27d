import { html } from "../vendor/preact.js";
import { Empty, Input, Sheet } from "../parts/bits.js";
import { Lanes } from "../parts/lanes.js";
import { Rows, Search, Told, useSearch } from "../parts/rows.js";

export default function Timeline({ query: asked }) {
  const search = useSearch(asked.topics ? "/timeline" : null, asked);
  return html`<${Sheet}>
    <h1>Timeline</h1>
    <${Search} asked=${asked} path="/timeline">
      <label>Topics <${Input} name="topics" value=${asked.topics || ""} placeholder="orders,payments" size="26" required /></label>
    <//>
    ${asked.topics ? html`<div><${Told} search=${search} />
        ${search.rows.length > 0 && html`<${Lanes} rows=${search.rows} />`}<${Rows} rows=${search.rows} many /></div>`
      : html`<${Empty} title="Which topics?">Name some, with commas: their records stand here in one order of time, one lane for each
          partition, and those that came later than a newer one are marked. With a key, it is followed across all of them.<//>`}
  <//>`;
}
