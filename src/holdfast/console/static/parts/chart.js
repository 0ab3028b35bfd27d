// Series, strips and histograms as SVG: their numbers are in the drawing, for tests and for screen readers.

import { html } from "../vendor/preact.js";
import { clock } from "./format.js";

const WIDTH = 600;
const HEIGHT = 120;

const known = (values) => values.filter((each) => each !== null && each !== undefined);

// Lines over time. series: [{name, values, title}]
export function Chart({ times, series, unit, label }) {
  const all = known(series.flatMap((each) => each.values));
  if (all.length < 2) return html`<div class="chart empty-chart">${label}: the first points come in ten seconds.</div>`;
  const most = Math.max(...all, 1e-9);
  const first = times[0];
  const span = Math.max(times.at(-1) - first, 1);
  const x = (at) => ((times[at] - first) / span) * WIDTH;
  const y = (value) => HEIGHT - 6 - (value / most) * (HEIGHT - 18);
  const line = (values) => {
    let pen = "M";
    return values
      .map((value, at) => {
        if (value === null || value === undefined) {
          pen = "M";
          return "";
        }
        const step = `${pen}${x(at).toFixed(1)} ${y(value).toFixed(1)}`;
        pen = "L";
        return step;
      })
      .join("");
  };
  const last = series.map((each) => `${each.title} ${unit(each.values.at(-1))}`).join(", ");
  return html`<figure class="chart">
    <figcaption>${label}<span>${series.map((each, at) => html`<i class="line-${at}"></i>${each.title} <b
      data-last=${each.name}>${unit(each.values.at(-1))}</b> `)}</span></figcaption>
    <svg viewBox="0 0 ${WIDTH} ${HEIGHT}" role="img" aria-label="${label}: now ${last}; highest ${unit(most)}" preserveAspectRatio="none">
      <line class="grid" x1="0" x2=${WIDTH} y1=${y(most)} y2=${y(most)} /><line class="grid" x1="0" x2=${WIDTH} y1=${y(0)} y2=${y(0)} />
      ${series.map((each, at) => html`<path class="line line-${at}" d=${line(each.values)} data-name=${each.name} />`)}
    </svg>
    <p class="axis"><span>${clock(first)}</span><span>highest ${unit(most)}</span><span>${clock(times.at(-1))}</span></p>
  </figure>`;
}

// One bar for each of the last events.
export function Strip({ items, value, title, label, unit }) {
  const most = Math.max(...items.map(value), 1e-9);
  const width = WIDTH / Math.max(items.length, 60);
  return html`<figure class="chart">
    <figcaption>${label}<span>highest <b>${unit(most)}</b></span></figcaption>
    <svg viewBox="0 0 ${WIDTH} 80" role="img" aria-label="${label}: ${items.length} shown, highest ${unit(most)}" preserveAspectRatio="none">
      ${items.map((each, at) => html`<rect class="strip" data-value=${value(each)} x=${(at * width).toFixed(2)}
        y=${(80 - (value(each) / most) * 76).toFixed(2)} width=${Math.max(width - 0.6, 0.6).toFixed(2)}
        height=${Math.max((value(each) / most) * 76, 1).toFixed(2)}><title>${title(each)}</title></rect>`)}
    </svg>
  </figure>`;
}

// How many took how long. buckets: [[bound, count]]
export function Bars({ buckets, label, unit }) {
  const used = buckets.filter(([, count]) => count);
  const first = buckets.indexOf(used[0]);
  const shown = buckets.slice(Math.max(first, 0), buckets.indexOf(used.at(-1)) + 1);
  const most = Math.max(...shown.map(([, count]) => count), 1);
  return html`<figure class="chart"><figcaption>${label}</figcaption>
    <ol class="bars">${shown.map(([bound, count]) => html`<li data-bound=${bound} data-count=${count}>
      <span>${bound === null ? "longer" : `≤ ${unit(bound)}`}</span><i style=${{ width: `${(count / most) * 100}%` }}></i><b>${count}</b></li>`)}</ol>
  </figure>`;
}
