// The calls that were made from this browser, kept over a reload. Secrets are not kept, and there is a bound.

import { signal } from '@preact/signals';
import { stringify } from './json.js';
import { withoutSecrets } from './schema.js';

const KEY = 'opentool.history';
const MAX_ENTRIES = 200;
/** Longer results are kept as their first characters, longer arguments not at all: storage has a few megabytes. */
const MAX_RESULT = 4_000;
const MAX_ARGUMENTS = 16_000;
const MAX_TOTAL = 2_000_000;

export const entries = signal(load());

function load() {
  try {
    const kept = JSON.parse(localStorage.getItem(KEY) ?? '[]');
    return Array.isArray(kept) ? kept.filter((entry) => typeof entry?.id === 'string' && typeof entry.tool === 'string') : [];
  } catch {
    return [];
  }
}

function save(list) {
  let kept = list.slice(0, MAX_ENTRIES);
  let text = JSON.stringify(kept);
  while (kept.length > 1 && text.length > MAX_TOTAL) {
    kept = kept.slice(0, Math.ceil(kept.length / 2));
    text = JSON.stringify(kept);
  }
  entries.value = kept;
  try {
    localStorage.setItem(KEY, text);
  } catch {
    // A full or forbidden storage: the history then lasts as long as the page.
  }
}

/** What is kept of a call that ended: `args` is a Map, or the text that was not JSON. */
export function entryOf({ id, tool, schema, args, at, outcome }) {
  const { value, removed } = withoutSecrets(args, schema);
  const text = stringify(value);
  const isShort = text.length <= MAX_ARGUMENTS;
  // What a tool answers to a secret may have it in it.
  const answer = removed.length > 0 ? null : outcome.ok ? stringify(outcome.result ?? null) : outcome.error.message;
  return {
    id,
    tool,
    at,
    args: isShort ? text : null,
    removed,
    ok: outcome.ok,
    kind: outcome.ok ? null : outcome.error.kind,
    answer: answer === null ? null : answer.slice(0, MAX_RESULT),
    durationMs: outcome.durationMs ?? null,
    bytes: outcome.bytes ?? null,
  };
}

export function remember(entry) {
  save([entry, ...entries.value.filter((other) => other.id !== entry.id)]);
}

export function forget(id) {
  save(entries.value.filter((entry) => entry.id !== id));
}

export function forgetAll() {
  save([]);
}

// Another tab has made a call.
globalThis.addEventListener?.('storage', (event) => {
  if (event.key === KEY) entries.value = load();
});
