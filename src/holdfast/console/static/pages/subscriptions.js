import { html } from "../vendor/preact.js";
import { Empty, Figure, Figures, Section, Sheet, Waiting } from "../parts/bits.js";
import { bytes, count } from "../parts/format.js";
import { useLive } from "../parts/live.js";
import { Table } from "../parts/table.js";

export default function Subscriptions() {
  return html`<${Sheet}>
    <h1>Subscriptions</h1>
    <${Waiting} state=${useLive("/subscriptions")}>${(data) => html`
      <${Figures}>
        <${Figure} label="Open" value=${count(data.open)} note="at this broker" />
        <${Figure} label="Events sent" value=${count(data.events)} note=${bytes(data.size)} />
        <${Figure} label="Lag" value=${count(data.lags.reduce((a, b) => a + b, 0))} note="offsets to go through, without what is read from the store" />
      <//>
      <${Section} title="Open ones">
        <${Table} label="Subscriptions" rows=${data.lags.map((lag, at) => ({ at: at + 1, lag }))} columns=${[
          { name: "at", title: "", number: true },
          { name: "lag", title: "offsets behind", number: true, cell: (row) => count(row.lag) },
        ]} empty=${html`<${Empty} title="Nobody subscribes.">Each subscription would be a row here, with its lag:
          <code>holdfast subscribe orders payments</code>.<//>`} />
      <//>
      <p class="hint">Syncs and archives follow this broker as clients do and do not report to it: their lag is in their own metrics
        (<code>holdfast sync --metrics</code>), and as far as they commit as a group, among the groups.</p>`}<//>
  <//>`;
}
