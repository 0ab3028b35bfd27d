// The shell: who is there, which page, and the way between them.

import { html, render, useEffect, useState } from "./vendor/preact.js";
import { A } from "./parts/bits.js";
import { ask, send } from "./parts/live.js";
import { Login } from "./parts/login.js";
import { NAVIGATION, PAGES } from "./pages.js";

function useAddress() {
  const [address, setAddress] = useState(location.pathname + location.search);
  useEffect(() => {
    const moved = () => setAddress(location.pathname + location.search);
    addEventListener("popstate", moved);
    return () => removeEventListener("popstate", moved);
  }, []);
  return address;
}

function find(address) {
  const [path, search] = address.split("?");
  for (const [pattern, title, load] of PAGES) {
    const found = pattern.exec(path);
    if (found) {
      const names = Object.fromEntries(Object.entries(found.groups || {}).map(([k, v]) => [k, decodeURIComponent(v)]));
      return { title, load, names, query: Object.fromEntries(new URLSearchParams(search || "")), address };
    }
  }
  return null;
}

function Page({ found, me }) {
  const [loaded, setLoaded] = useState(null);
  useEffect(() => {
    let is_over = false;
    found.load().then((module) => is_over || setLoaded({ draw: module.default, load: found.load }));
    return () => (is_over = true);
  }, [found.load]);
  useEffect(() => {
    document.title = `${[found.names.topic || found.names.group, found.title].filter(Boolean).join(" · ")} · Holdfast`;
  });
  if (!loaded || loaded.load !== found.load) return html`<p class="busy" aria-busy="true">One moment …</p>`;
  return html`<${loaded.draw} key=${Object.values(found.names).join("/")} names=${found.names} query=${found.query}
    address=${found.address} me=${me} />`;
}

function Navigation({ me, path }) {
  const is_here = (href) => (href === "/" ? path === "/" : path === href || path.startsWith(href + "/"));
  const shown = NAVIGATION.filter(([href]) => me.pages.includes(href));
  return html`<nav class="main" aria-label="Pages">${shown.map(([href, title], at) => html`<${A} href=${href} key=${href}
    accesskey=${(at + 1) % 10} aria-current=${is_here(href) ? "page" : null}>${title}<//>`)}</nav>`;
}

function Shell() {
  const address = useAddress();
  const [me, setMe] = useState(null);
  const [failure, setFailure] = useState(null);
  const look = () => ask("/me").then((said) => (setFailure(null), setMe(said)), (failed) => setFailure(failed));
  useEffect(() => void look(), []);
  useEffect(() => document.querySelector("main")?.focus({ preventScroll: false }), [address.split("?")[0]]);
  if (failure && failure.status === 401) return html`<${Login} onDone=${look} />`;
  if (failure) return html`<main class="lone"><p class="note bad">${failure.message}</p></main>`;
  if (!me) return html`<main class="lone"><p class="busy" aria-busy="true">Asking the broker …</p></main>`;
  const found = find(address);
  const leave = () => send("/logout", {}).then(() => location.assign("/"));
  return html`
    <a class="skip" href="#main">Skip to the page</a>
    <header class="top">
      <${A} href="/" class="brand"><img src=${new URL("mark.svg", import.meta.url).pathname} alt="" /> Holdfast<//>
      <span class="where" title="Which broker these pages speak of">broker ${me.node} <em>of cluster ${me.cluster.slice(0, 8)}</em></span>
      <span class="who">${me.visitor}${me.can_leave && html` <button class="plain" onClick=${leave}>log out</button>`}</span>
    </header>
    <${Navigation} me=${me} path=${address.split("?")[0]} />
    <main id="main" tabindex="-1">
      ${found ? html`<${Page} found=${found} me=${me} />`
        : html`<div class="empty"><strong>There is no such page.</strong><p>The way back: <${A} href="/">Overview<//>.</p></div>`}
    </main>`;
}

render(html`<${Shell} />`, document.getElementById("app"));
