// Small pieces that all pages are made of.

import { html, useLayoutEffect, useRef } from "../vendor/preact.js";

export function go(path) {
  history.pushState(null, "", path);
  dispatchEvent(new PopStateEvent("popstate"));
}

export function A({ href, children, ...rest }) {
  const click = (event) => {
    if (event.metaKey || event.ctrlKey || event.shiftKey || event.button) return;
    event.preventDefault();
    go(href);
  };
  return html`<a href=${href} onClick=${click} ...${rest}>${children}</a>`;
}

// An input that begins with a value. What was typed stays when the page around it is drawn again, as live ones often are.
export function Input({ value, ...rest }) {
  const box = useRef(null);
  useLayoutEffect(() => void (box.current.value = value), [value]);
  return html`<input ref=${box} ...${rest} />`;
}

export const path = (...names) => "/" + names.map((each) => encodeURIComponent(each)).join("/");

export const topicPath = (topic, ...more) => path("topics", topic, ...more);

export function query(values) {
  const found = Object.entries(values).filter(([, value]) => value !== "" && value !== null && value !== undefined);
  return found.length ? "?" + new URLSearchParams(found) : "";
}

export function Figure({ label, value, note, level }) {
  return html`<div class="figure ${level || ""}">
    <dt>${label}</dt>
    <dd>${value}</dd>
    ${note && html`<small>${note}</small>`}
  </div>`;
}

export const Figures = ({ wide, children }) => html`<dl class="figures ${wide ? "wide" : ""}">${children}</dl>`;

export const Badge = ({ level, children }) => html`<span class="badge ${level || ""}">${children}</span>`;

export const Empty = ({ title, children }) => html`<div class="empty"><strong>${title}</strong><p>${children}</p></div>`;

export const Note = ({ level, children }) => html`<p class="note ${level || "info"}" role="status">${children}</p>`;

export function Section({ title, children, aside }) {
  return html`<section>
    <header><h2>${title}</h2>${aside && html`<div class="aside">${aside}</div>`}</header>
    ${children}
  </section>`;
}

// A page's one root: without it the vendored preact mixes up the order of what comes late.
export const Sheet = ({ children }) => html`<article>${children}</article>`;

// What a page shows until there is something: why not, or that it is on its way.
export function Waiting({ state, children }) {
  if (state.error) return html`<${Note} level="bad">${state.error.message}<//>`;
  if (!state.data) return html`<p class="busy" aria-busy="true">Asking the broker …</p>`;
  return html`<div>${state.lost && html`<${Note} level="warn">${state.lost}<//>`}<div>${children(state.data)}</div></div>`;
}

export function Meter({ value, most, label }) {
  const share = most ? Math.min(value / most, 1) : 0;
  const level = share > 0.9 ? "bad" : share > 0.7 ? "warn" : "";
  return html`<div class="meter ${level}" role="meter" aria-label=${label} aria-valuenow=${Math.round(share * 100)}
    aria-valuemin="0" aria-valuemax="100"><i style=${{ width: `${share * 100}%` }}></i></div>`;
}
