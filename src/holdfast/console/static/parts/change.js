// Changes: a button opens a question, which is answered by repeating the name.

import { html, useEffect, useRef, useState } from "../vendor/preact.js";
import { Input, Note } from "./bits.js";
import { send } from "./live.js";

// fields: [{name, title, value, kind, lines}]. `make` turns what was said into the body.
export function Change({ title, url, name, fields = [], make = (said) => said, danger, text, onDone }) {
  const [open, setOpen] = useState(false);
  const [state, setState] = useState({});
  const dialog = useRef(null);
  useEffect(() => {
    if (open) dialog.current?.showModal();
  }, [open]);
  const close = () => {
    setOpen(false);
    setState({});
  };
  const submit = async (event) => {
    event.preventDefault();
    const { repeat, ...said } = Object.fromEntries(new FormData(event.target));
    setState({ busy: true });
    try {
      const told = await send(url, { ...make(said), repeat });
      setState({ done: told.done });
      if (onDone) onDone(told);
    } catch (failure) {
      setState({ failure });
    }
  };
  return html`<span>
    <button class=${danger ? "danger" : ""} onClick=${() => setOpen(true)}>${title}</button>
    ${open && html`<dialog ref=${dialog} aria-label=${title} onClose=${close}>
      <h2>${title}${name && html`: ${name}`}</h2>
      ${text && html`<p class="hint">${text}</p>`}
      ${state.done ? html`<div><${Note} level="ok">${state.done}<//><button onClick=${close}>Close</button></div>`
        : html`<form onSubmit=${submit}>
          ${fields.map((each) => html`<${Field} of=${each} />`)}
          ${name && html`<label>Repeat the name to be sure <input name="repeat" autocomplete="off" required pattern=${exactly(name)} placeholder=${name} /></label>`}
          ${state.failure && html`<${Note} level="bad">${state.failure.message}<//>`}
          <div><button class=${danger ? "danger" : "main-button"} disabled=${state.busy}>${title}</button> <button type="button" onClick=${close}>Leave it</button></div>
        </form>`}
    </dialog>`}
  </span>`;
}

const exactly = (text) => text.replace(/[.*+?^${}()|[\]\\\-/]/g, "\\$&");

function Field({ of }) {
  return html`<label>${of.title} ${of.lines
    ? html`<textarea name=${of.name} rows=${of.lines}>${of.value || ""}</textarea>`
    : html`<${Input} name=${of.name} value=${of.value ?? ""} type=${of.kind || "text"} required=${of.required} min=${of.min} />`}</label>`;
}
