// What is shown to a browser without a session.

import { useState } from 'preact/hooks';
import { session, signIn, start } from '../state.js';
import { Problem } from '../parts/basics.jsx';

export function SignInView() {
  const { state, keySignIn, error } = session.value;
  if (state === 'unreachable') {
    return (
      <section class="page narrow">
        <h1 tabIndex={-1}>The server cannot be reached</h1>
        <p class="lead">
          Start it with <code>opentool serve</code>, then try again.
        </p>
        <button type="button" class="primary" onClick={start}>
          Try again
        </button>
      </section>
    );
  }
  return (
    <section class="page narrow">
      <h1 tabIndex={-1}>Sign in</h1>
      {error && <Problem error={error} />}
      <p class="lead">This page can run tools, so it opens only for those who started the server.</p>
      {keySignIn && <KeyForm />}
      <div class="card">
        <h2>{keySignIn ? 'Or open a link' : 'Open the link of the terminal'}</h2>
        <p>
          <code>opentool serve</code> prints a link with a token to its terminal. Each link works once: open it in this browser. Then the next one is printed; with{' '}
          <code>--open</code> it opens this page by itself.
        </p>
      </div>
    </section>
  );
}

function KeyForm() {
  const [key, setKey] = useState('');
  const [error, setError] = useState(null);
  const [busy, setBusy] = useState(false);
  const submit = async (event) => {
    event.preventDefault();
    setBusy(true);
    try {
      await signIn(key);
    } catch (refusal) {
      setError(refusal);
    }
    setBusy(false);
  };
  return (
    <form class="card sign-in" onSubmit={submit}>
      <div class="field">
        <label for="api-key">
          <span class="field-name">API key</span>
        </label>
        <input id="api-key" type="password" autocomplete="current-password" required value={key} onInput={(event) => setKey(event.currentTarget.value)} aria-describedby="api-key-about" />
        <p class="about" id="api-key-about">
          One of the keys that the server was started with. It is exchanged for a cookie and not kept.
        </p>
      </div>
      {error && <Problem error={error} />}
      <button type="submit" class="primary" disabled={busy || key === ''}>
        Sign in
      </button>
    </form>
  );
}
