import { html, useState } from "../vendor/preact.js";
import { Badge, Empty, go, Note, query, Section, Sheet, Waiting } from "../parts/bits.js";
import { count, duration, time } from "../parts/format.js";
import { ask, useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

const OPERATIONS = ["READ", "WRITE", "CREATE", "DELETE", "ALTER", "DESCRIBE", "DESCRIBE_CONFIGS", "ALTER_CONFIGS", "CLUSTER_ACTION", "IDEMPOTENT_WRITE"];
const KINDS = ["TOPIC", "GROUP", "CLUSTER", "TRANSACTIONAL_ID"];

export default function Access({ query: asked, address }) {
  const change = (filter) => go("/access" + query({ ...asked, filter }));
  return html`<${Sheet}>
    <h1>Access</h1>
    <${May} />
    <form class="filter" role="search" onSubmit=${(event) => event.preventDefault()}>
      <label>Filter <input type="search" value=${asked.filter || ""} placeholder="a part of a user or a rule" onInput=${(event) => change(event.target.value)} /></label>
    </form>
    <${Waiting} state=${useLive(address)}>${(data) => html`
      ${!data.has_authorizer && html`<${Note} level="warn">There is no authorizer: whoever is let in may do everything. <code>authorizer.class.name=standard</code> makes rules count.<//>`}
      <${Section} title="Users" aside=${`${data.users.length} of ${data.users_all}`}>
        <${Table} label="Users" rows=${data.users} columns=${USERS} empty=${html`<${Empty} title="No user is stored.">Make one: <code>holdfast user add
          alice</code>. Super users: ${data.super_users.join(", ") || "none"}.<//>`} />
      <//>
      <${Section} title="Rules" aside=${`${data.rules.length} of ${data.rules_all}`}>
        <${Table} label="Rules" rows=${data.rules} columns=${RULES} empty=${html`<${Empty} title="There is no rule.">Make one: <code>holdfast acl add</code>, or Kafka's own <code>kafka-acls.sh</code>.<//>`} />
      <//>
      <${Section} title="Quotas">
        <${Table} label="Quotas" rows=${data.quotas} columns=${QUOTAS} empty=${html`<p class="hint">Nobody is held to a quota.</p>`} />
        <${Table} label="Waits now" rows=${data.waiting} columns=${WAITING} empty=${html`<${Empty} title="Nobody waits for a quota now.">Whoever has
          used more than theirs would be here, and for how long.<//>`} />
        <${Table} label="Throttled" rows=${data.throttled.filter((each) => each.count)} columns=${THROTTLED} />
      <//>
      <${Section} title="Refusals, failed logins and changes of the last hour">
        <${Table} label="Refusals" rows=${data.recent} columns=${RECENT} empty=${html`<p class="hint">Nobody was refused anything.</p>`} />
      <//>`}<//>
  <//>`;
}

const USERS = [{ name: "user", sort: true }, { name: "mechanisms", cell: (row) => row.mechanisms.join(", ") }];
const RULES = [
  { name: "permission", sort: true, cell: (row) => html`<${Badge} level=${row.permission === "DENY" ? "bad" : ""}>${row.permission}<//>` },
  { name: "principal", sort: true }, { name: "operation", sort: true }, { name: "kind", sort: true },
  { name: "name", sort: true, cell: (row) => html`${row.name} ${row.pattern === "PREFIXED" && html`<small>and what begins so</small>`}` }, { name: "host" },
];
const QUOTAS = [{ name: "who" }, { name: "limits", cell: (row) => Object.entries(row.limits).map(([name, value]) => `${name} ${value}`).join(", ") }];
const WAITING = [
  { name: "who", cell: (row) => html`<span data-waits=${row.who}>${row.who}</span>` },
  { name: "quota", cell: (row) => html`<code>${row.quota}</code>` },
  { name: "seconds", title: "waits for", number: true, cell: (row) => duration(row.seconds) },
];
const THROTTLED = [{ name: "quota" }, { name: "count", title: "requests told to wait", number: true, cell: (row) => count(row.count) },
  { name: "seconds", title: "in all", number: true, cell: (row) => duration(row.seconds) }];
const RECENT = [{ name: "at_ms", title: "time", cell: (row) => time(row.at_ms) }, { name: "event" }, { name: "text" }];

// May X do Y to Z, and by which rule.
function May() {
  const [told, setTold] = useState(null);
  const submit = (event) => {
    event.preventDefault();
    ask("/access/verdict" + query(Object.fromEntries(new FormData(event.target)))).then(setTold, (failure) => setTold({ failure }));
  };
  const choice = (name, title, all) => html`<label>${title} <select name=${name}>${all.map((each) => html`<option value=${each}>${each}</option>`)}</select></label>`;
  return html`<${Section} title="May somebody do something?">
    <form class="filter" onSubmit=${submit}>
      <label>Who <input name="user" placeholder="User:alice" required /></label>
      ${choice("operation", "does", OPERATIONS)} ${choice("kind", "to a", KINDS)}
      <label>called <input name="name" placeholder="orders" /></label>
      <label>from <input name="host" placeholder="127.0.0.1" size="12" /></label>
      <button class="main-button">Ask</button>
    </form>
    ${told && (told.failure ? html`<${Note} level="bad">${told.failure.message}<//>`
      : html`<${Note} level=${told.is_allowed ? "ok" : "bad"}><b data-allowed=${told.is_allowed}>${told.is_allowed ? "Yes" : "No"}</b>: ${told.asked}, by: ${told.by}<//>`)}
  <//>`;
}
