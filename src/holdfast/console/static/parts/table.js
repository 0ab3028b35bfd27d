// Tables: sorted by the broker or here, with rows that can be reached by keyboard.

import { html, useState } from "../vendor/preact.js";

// columns: {name, title, cell(row), number, sort}. `sort` and `onSort` where the broker sorts; else this does.
export function Table({ columns, rows, label, sort, onSort, empty }) {
  const [own, setOwn] = useState("");
  const chosen = onSort ? sort : own;
  const choose = (name) => (onSort || setOwn)(chosen === name ? `-${name}` : name);
  const shown = onSort || !own ? rows : sorted(rows, own);
  if (!rows.length) return empty || null;
  return html`<div class="scroll" tabindex="0" role="region" aria-label=${label}>
    <table>
      <thead><tr>${columns.map((each) => html`<${Head} column=${each} chosen=${chosen} choose=${choose} />`)}</tr></thead>
      <tbody>
        ${shown.map((row) => html`<tr>${columns.map((each) => html`<td class=${each.number ? "number" : ""}>
          ${each.cell ? each.cell(row) : row[each.name]}</td>`)}</tr>`)}
      </tbody>
    </table>
  </div>`;
}

function Head({ column, chosen, choose }) {
  const is_sorted = chosen.replace(/^-/, "") === column.name;
  const order = !is_sorted ? "none" : chosen.startsWith("-") ? "descending" : "ascending";
  const title = column.title ?? column.name;
  if (!column.sort) return html`<th class=${column.number ? "number" : ""} scope="col">${title}</th>`;
  return html`<th class=${column.number ? "number" : ""} scope="col" aria-sort=${order}>
    <button class="plain" onClick=${() => choose(column.name)}>${title}<span aria-hidden="true"
      class="arrow">${order === "none" ? "" : order === "ascending" ? " ↑" : " ↓"}</span></button>
  </th>`;
}

function sorted(rows, by) {
  const name = by.replace(/^-/, "");
  const sign = by.startsWith("-") ? -1 : 1;
  const before = (a, b) => (a === b ? 0 : (a ?? -Infinity) < (b ?? -Infinity) ? -1 : 1);
  return [...rows].sort((a, b) => sign * before(a[name], b[name]));
}

export function Pager({ start, count, all, onMove, step = 100 }) {
  if (all <= step && !start) return null;
  return html`<nav class="pager" aria-label="Rows">
    <button disabled=${start <= 0} onClick=${() => onMove(Math.max(start - step, 0))}>← before</button>
    <span>${start + 1} – ${start + count} of ${all}</span>
    <button disabled=${start + count >= all} onClick=${() => onMove(start + step)}>next →</button>
  </nav>`;
}
