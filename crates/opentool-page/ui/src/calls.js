// The arguments that are being written and the calls that run, per tool: they stay while the user looks at another view.

import { signal } from '@preact/signals';
import { ApiError, newId, post, remove, stream } from './api.js';
import { duration, preview } from './format.js';
import { entryOf, remember } from './history.js';
import { parse, stringify } from './json.js';
import { placedProblems } from './problems.js';
import { initial } from './schema.js';
import { announce } from './state.js';

/** How many streamed pieces are shown; the outcome has them all. */
const MAX_PIECES = 500;

const drafts = new Map();
const calls = new Map();

function emptyArguments(tool) {
  const value = initial(tool.inputSchema, tool.inputSchema);
  return value instanceof Map ? value : new Map();
}

/**
 * What the user wrote for a tool: `mode` is form or json, and the one that is shown counts: `value` or `text`. `generation` grows when
 * the arguments come from outside, so that the form starts again.
 */
export function draftOf(tool) {
  if (!drafts.has(tool.name)) drafts.set(tool.name, signal({ mode: 'form', value: emptyArguments(tool), text: '', generation: 0 }));
  return drafts.get(tool.name);
}

/** Puts arguments into the form, or their text into the JSON editor where the form cannot hold them. */
export function fill(tool, text) {
  const draft = draftOf(tool);
  const { mode, generation } = draft.value;
  try {
    const value = parse(text);
    if (value instanceof Map) {
      draft.value = { mode, value, text: stringify(value, 2), generation: generation + 1 };
      return;
    }
  } catch {
    // The editor says what is wrong with it.
  }
  draft.value = { mode: 'json', value: new Map(), text, generation: generation + 1 };
}

/** Empties the arguments and takes the result away; a call that runs stays, so that it can be watched and cancelled. */
export function clear(tool) {
  const draft = draftOf(tool);
  draft.value = { mode: draft.value.mode, value: emptyArguments(tool), text: '{}', generation: draft.value.generation + 1 };
  if (callOf(tool.name).value?.state !== 'running') callOf(tool.name).value = null;
}

/** The JSON text of the arguments as they are now: exactly what will be sent. */
export function argumentsText({ mode, value, text }) {
  return mode === 'json' ? (text.trim() === '' ? '{}' : text) : stringify(value);
}

/** The last call of a tool: null, or what is known about it until now. */
export function callOf(name) {
  if (!calls.has(name)) calls.set(name, signal(null));
  return calls.get(name);
}

/** Whether the user confirms before the tool runs: the server says for which tools. */
export function needsConfirmation(tool) {
  return tool.approval === true;
}

/** Runs a tool with arguments (a JSON text), unless it runs. Resolves to false where the server wants a confirmation first. */
export async function run(tool, text, confirmed) {
  const current = callOf(tool.name);
  if (current.value?.state === 'running') return true;
  const id = newId();
  const controller = new AbortController();
  const begun = { id, tool: tool.name, text, at: Date.now(), since: performance.now(), state: 'running', progress: null, pieces: [], dropped: 0, ask: null, outcome: null, controller };
  current.value = begun;
  const update = (change) => {
    // A later call of the same tool has taken the place.
    if (current.value?.id === id) current.value = { ...current.value, ...change };
  };
  const finish = (outcome) => {
    update({ state: 'ended', outcome: withFields(tool, text, outcome), ask: null });
    keep(tool, begun, outcome);
    const words = outcome.ok ? `ended after ${duration(outcome.durationMs)}` : `failed: ${preview(outcome.error.message, 200)}`;
    announce(`${tool.name} ${words}`);
  };
  // Spliced in as it was written, so that no number changes. Only JSON is sent: text that closes the object would change the message.
  const body = `{"id":${JSON.stringify(id)},"tool":${JSON.stringify(tool.name)}${confirmed ? ',"confirmed":true' : ''},"arguments":${text}}`;
  let ended = false;
  try {
    await stream(
      'calls',
      body,
      (message) => {
        switch (message.type) {
          case 'progress':
            update({ progress: message });
            break;
          case 'piece': {
            const before = current.value?.pieces ?? [];
            const pieces = [...before, message.parts ?? [{ type: 'json', value: message.value }]].slice(-MAX_PIECES);
            update({ pieces, dropped: (current.value?.dropped ?? 0) + before.length + 1 - pieces.length });
            break;
          }
          case 'ask':
            update({ ask: message });
            announce(`${tool.name} asks: ${message.message}`);
            break;
          case 'outcome':
            ended = true;
            finish(message);
            break;
          default:
        }
      },
      controller.signal,
    );
    if (!ended) finish(failure('connection', 'The answer ended without an outcome.', begun));
  } catch (error) {
    if (error instanceof ApiError && error.kind === 'confirmation-required' && !confirmed) {
      current.value = null;
      return false;
    }
    if (error.name === 'AbortError') finish(failure('cancelled', 'The call was cancelled.', begun));
    else finish(failure(error.kind ?? 'page', error.hint ? `${error.message} ${error.hint}` : error.message, begun));
  }
  return true;
}

function failure(kind, message, begun) {
  return { type: 'outcome', ok: false, error: { kind, message, problems: [] }, durationMs: performance.now() - begun.since, bytes: 0, raw: null };
}

/** The outcome, with each problem of the arguments at its field. */
function withFields(tool, text, outcome) {
  const problems = outcome.error?.problems ?? [];
  if (outcome.ok || problems.length === 0) return outcome;
  try {
    return { ...outcome, error: { ...outcome.error, problems: placedProblems(problems, tool.inputSchema, parse(text)) } };
  } catch {
    // What is not JSON has no fields.
    return outcome;
  }
}

function keep(tool, { id, text, at }, outcome) {
  let args;
  try {
    args = parse(text);
  } catch {
    // The server refused it; there is nothing to run again.
    return;
  }
  remember(entryOf({ id, tool: tool.name, schema: tool.inputSchema, args, at, outcome }));
}

/** Asks the server to cancel; the stream then ends with an outcome. Without an answer of the server the stream is closed. */
export async function cancel(name) {
  const call = callOf(name).value;
  if (call?.state !== 'running') return;
  callOf(name).value = { ...call, state: 'running', cancelling: true };
  try {
    await remove(`calls/${call.id}`);
  } catch {
    call.controller.abort();
  }
}

/** Answers a question that the tool asked; `content` is a Map for `accept`. */
export async function answer(name, action, content = null) {
  const call = callOf(name).value;
  if (!call?.ask) return;
  const extra = action === 'accept' ? `,"content":${stringify(content)}` : '';
  await post(`calls/${call.id}/answers`, `{"ask":${JSON.stringify(call.ask.ask)},"action":${JSON.stringify(action)}${extra}}`);
  if (callOf(name).value?.id === call.id) callOf(name).value = { ...callOf(name).value, ask: null };
}
