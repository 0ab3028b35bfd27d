import { html } from "../vendor/preact.js";
import { A, Sheet, topicPath } from "../parts/bits.js";
import { Rows, Search, Told, useSearch } from "../parts/rows.js";

export default function Records({ names, query: asked }) {
  const path = topicPath(names.topic, "records");
  const search = useSearch(path, asked);
  return html`<${Sheet}>
    <h1><${A} href="/topics">Topics<//> <span aria-hidden="true">›</span> <${A} href=${topicPath(names.topic)}>${names.topic}<//>
      <span aria-hidden="true"> ›</span> records</h1>
    <${Search} asked=${asked} path=${path} partitions />
    <${Told} search=${search} />
    <${Rows} rows=${search.rows} />
  <//>`;
}
