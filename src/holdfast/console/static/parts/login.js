// Who are you? Asked where the broker's listener asks it, too.

import { html, useState } from "../vendor/preact.js";
import { send } from "./live.js";

export function Login({ onDone }) {
  const [state, setState] = useState({});
  const [byToken, setByToken] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    const form = new FormData(event.target);
    setState({ busy: true });
    try {
      await send("/login", Object.fromEntries(form));
      await onDone();
    } catch (failure) {
      setState({ failure });
    }
  };
  return html`<main class="lone">
    <form class="login" onSubmit=${submit}>
      <h1>Holdfast</h1>
      ${byToken ? html`<label>Token <input key="token" name="token" type="password" autocomplete="off" required /></label>`
        : html`<label>User <input key="user" name="user" autocomplete="username" autofocus required /></label>
      <label>Password <input key="password" name="password" type="password" autocomplete="current-password" required /></label>`}
      <button class="main-button" disabled=${state.busy}>${state.busy ? "One moment …" : "Log in"}</button>
      <button type="button" class="plain" onClick=${() => setByToken(!byToken)}>${byToken ? "With a user and a password" : "With a bearer token"}</button>
      ${state.failure && html`<p class="note bad" role="alert">${state.failure.status === 401
        ? (byToken ? "The broker does not take this token." : "No user has this name and password.") : state.failure.message}</p>`}
      <p class="hint">The users of the broker's own listeners: <code>holdfast user list</code> names them. What you may
        see is what its rules let you describe and read.</p>
    </form>
  </main>`;
}
