// The server's routes below /ui/api. All addresses are relative, so that the page also works behind a path of a proxy.

import { parse, plain } from './json.js';

/** What the server refused, or that it could not be reached. */
export class ApiError extends Error {
  constructor(status, kind, message, hint = null, body = {}) {
    super(message);
    Object.assign(this, { status, kind, hint, body });
  }
}

/** Called with the answer of every request that is refused for want of a session. */
let onSignedOut = () => {};
export function whenSignedOut(callback) {
  onSignedOut = callback;
}

/** The values under these names keep their numbers as they were written. */
const EXACT = new Set(['inputSchema', 'outputSchema', 'schema', 'result', 'value', 'arguments', 'content', 'body']);

/** Reads a message of the server. */
export function readMessage(text) {
  return plain(parse(text, { lenient: true }), EXACT);
}

async function send(method, path, body, signal) {
  let response;
  try {
    response = await fetch(`api/${path}`, {
      method,
      signal,
      body,
      headers: body === undefined ? {} : { 'Content-Type': 'application/json' },
      credentials: 'same-origin',
      cache: 'no-store',
    });
  } catch (error) {
    if (error.name === 'AbortError') throw error;
    throw new ApiError(0, 'unreachable', 'The server cannot be reached.', 'Is `opentool serve` still running?');
  }
  if (response.ok) return response;
  const answer = await response.text().then((text) => {
    try {
      return readMessage(text);
    } catch {
      return {};
    }
  });
  const { kind = 'http', message = `The server answered ${response.status}.`, hint } = answer.error ?? {};
  const error = new ApiError(response.status, kind, message, hint, answer);
  if (response.status === 401 && path !== 'session') onSignedOut(error);
  throw error;
}

/** Reads a resource. */
export async function get(path) {
  return readMessage(await (await send('GET', path)).text());
}

/** Sends a JSON text; what comes back is not read. */
export async function post(path, text) {
  await send('POST', path, text);
}

export async function remove(path) {
  await send('DELETE', path);
}

/** Sends a JSON text and gives each line of the answer to `onLine` as it arrives. */
export async function stream(path, text, onLine, signal) {
  const response = await send('POST', path, text, signal);
  const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
  // The parts of a line that has no end yet; joined once, so that a long line costs no more than its length.
  let open = [];
  const take = (line) => {
    if (line.trim() !== '') onLine(readMessage(line));
  };
  for (;;) {
    let part;
    try {
      part = await reader.read();
    } catch (error) {
      if (error.name === 'AbortError') throw error;
      throw new ApiError(0, 'unreachable', 'The connection to the server broke while it answered.', 'Is `opentool serve` still running?');
    }
    if (part.done) break;
    const [first, ...rest] = part.value.split('\n');
    open.push(first);
    for (const next of rest) {
      take(open.join(''));
      open = [next];
    }
  }
  take(open.join(''));
}

/** A random id for a call, a turn or a conversation. */
export function newId() {
  const bytes = crypto.getRandomValues(new Uint8Array(12));
  return [...bytes].map((byte) => byte.toString(16).padStart(2, '0')).join('');
}
