// What the broker says: once, or each second for as long as the page is there.

import { useEffect, useState } from "../vendor/preact.js";

const AGAIN_MS = 5000;

export async function ask(url, init) {
  const answer = await fetch(url, { headers: { Accept: "application/json" }, ...init });
  if (answer.ok) return answer.json(); // Who has left meanwhile is told so, and gets no answer without a body.
  const said = await answer.json().catch(() => ({ error: `${answer.status} ${answer.statusText}` }));
  throw Object.assign(new Error(said.error || answer.status), { status: answer.status });
}

export function send(url, body) {
  const headers = { Accept: "application/json", "Content-Type": "application/json" };
  return ask(url, { method: "POST", headers, body: JSON.stringify(body) });
}

// The page's data as it is now: {data, error, lost}. `lost` says why it is not live.
export function useLive(url) {
  const [state, setState] = useState({});
  useEffect(() => {
    let source = null;
    let timer = null;
    let is_over = false;
    setState({});
    async function once(lost) {
      try {
        const data = await ask(url);
        if (!is_over) setState({ data, lost });
      } catch (failure) {
        if (!is_over) setState((before) => ({ ...before, error: failure, lost: "" }));
      }
    }
    function follow() {
      source = new EventSource(url);
      source.onmessage = (event) => setState({ data: JSON.parse(event.data) });
      source.addEventListener("gone", (event) => {
        source.close();
        setState({ error: new Error(JSON.parse(event.data).error) });
      });
      source.onerror = () => {
        if (source.readyState !== EventSource.CLOSED) {
          setState((before) => ({ ...before, lost: "The broker does not answer: what is here may be old." }));
          return;
        }
        once("This page is not live: too many are followed, or the broker has stopped. It is asked every few seconds.");
        timer = setTimeout(follow, AGAIN_MS);
      };
    }
    follow();
    return () => {
      is_over = true;
      clearTimeout(timer);
      if (source) source.close();
    };
  }, [url]);
  return state;
}

// The same once, or again when the address is another one.
export function useOnce(url) {
  const [state, setState] = useState({});
  useEffect(() => {
    const leaving = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    if (url) {
      ask(url, { signal: leaving.signal }).then(
        (data) => setState({ data }),
        (error) => leaving.signal.aborted || setState({ error }),
      );
    }
    return () => leaving.abort();
  }, [url]);
  return state;
}
