// A conversation with the configured model: what was said, and the turn that runs.

import { signal } from '@preact/signals';
import { get, newId, post, remove, stream } from './api.js';
import { stringify } from './json.js';
import { announce, session } from './state.js';

const KEY = 'opentool.conversation';

function keptId() {
  try {
    return sessionStorage.getItem(KEY) ?? keepId(newId());
  } catch {
    return newId();
  }
}

function keepId(id) {
  try {
    sessionStorage.setItem(KEY, id);
  } catch {
    // Then a reload begins a new conversation.
  }
  return id;
}

let conversation = keptId();
/** `messages`: {role: user, text, attachments} and {role: assistant, blocks, state, end, error, note}. */
export const chat = signal({ loaded: false, messages: [], turn: null, earlier: null, error: null });

/** What is written and not sent; `files` have name, mimeType, data in base64 and bytes. */
const EMPTY_DRAFT = { text: '', files: [], error: null };
export const draft = signal(EMPTY_DRAFT);

/** How much the server takes in one message: its text and its files in base64. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024;

const TURN_KEY = 'opentool.turn';

/** The turn that was begun last and whose end this page has not seen: what a reload would lose. */
function openTurn() {
  try {
    const open = JSON.parse(sessionStorage.getItem(TURN_KEY));
    return open?.conversation === conversation ? open : null;
  } catch {
    return null;
  }
}

function keepTurn(open) {
  try {
    if (open === null) sessionStorage.removeItem(TURN_KEY);
    else sessionStorage.setItem(TURN_KEY, JSON.stringify(open));
  } catch {
    // Then a reload loses it.
  }
}

const countOf = (messages) => messages.filter((message) => message.role === 'user').length;
/** How many messages of the user the server remembers, as far as this page knows. */
let remembersMine = 0;

// Another person may sign in after this one, and sees another conversation. What is written is kept where a session has run out.
session.subscribe(({ state, hasLeft }) => {
  if (hasLeft) {
    keepTurn(null);
    draft.value = EMPTY_DRAFT;
  }
  if (state !== 'out') return;
  remembersMine = 0;
  chat.value = { loaded: false, messages: [], turn: null, earlier: null, error: null };
});

/** How often the server is asked about a turn that began before the page was loaded. */
const POLL_MS = 1000;

/** Reads what the server remembers of the conversation. */
export async function loadConversation() {
  // What the page has seen may be more: a message whose answer failed is on the page only.
  if (chat.value.turn || (chat.value.loaded && !chat.value.earlier)) return;
  try {
    const { messages, turn } = await get(`chat/${conversation}`);
    const shown = remembered(messages);
    const lost = await lostTurn(shown, Boolean(turn));
    if (chat.value.turn) return;
    remembersMine = countOf(shown);
    chat.value = { loaded: true, messages: [...shown, ...lost], turn: null, earlier: turn ?? null, error: null };
    if (turn) setTimeout(loadConversation, POLL_MS);
  } catch (error) {
    chat.value = { ...chat.value, loaded: error.status === 404, error: error.status === 404 ? null : error };
  }
}

/** The messages of the turn that a reload cut off, unless the server remembers it: what was asked, and what has become of it. */
async function lostTurn(shown, isRunning) {
  const open = openTurn();
  if (!open) return [];
  const mine = { role: 'user', text: open.text, attachments: open.attachments };
  if (countOf(shown) > open.before && shown.findLast((message) => message.role === 'user').text === open.text) {
    if (!isRunning) keepTurn(null);
    return [];
  }
  if (isRunning) return [mine];
  const run = open.run ? await get(`runs/${encodeURIComponent(open.run)}`).then((answer) => answer.run, () => null) : null;
  const note = { text: (run && noteOf(run)) ?? open.error ?? 'The page was closed before the answer was complete. Send the message again where you still want it.', run: run?.id };
  return [mine, { role: 'assistant', blocks: [], state: 'ended', ask: null, end: null, error: null, note }];
}

/** What is said about a turn whose end this page has not seen, from its run; null where it ended without an answer. */
function noteOf({ status, pending }) {
  if (pending > 0) return 'The page was closed before this was answered. A call waits for your decision.';
  if (status === 'waiting') return 'All calls are decided. A command goes on with the answer.';
  if (status === 'done') return 'This was answered without the page.';
  if (status === 'running') return 'This is being answered without the page.';
  return null;
}

/** The messages as they are shown: calls, their results and the text of one turn together. */
export function remembered(messages) {
  const shown = [];
  for (const message of messages) {
    const last = shown[shown.length - 1];
    if (message.role === 'user') {
      shown.push({ role: 'user', text: message.text, attachments: message.attachments ?? [] });
    } else if (message.role === 'assistant') {
      const blocks = [];
      if (message.reasoning) blocks.push({ type: 'reasoning', text: message.reasoning });
      if (message.text) blocks.push({ type: 'text', text: message.text });
      for (const call of message.calls ?? []) blocks.push({ type: 'call', ...call, state: 'unknown' });
      const error = message.failure ? { kind: 'failed', message: `The model did not finish: ${message.failure}.` } : null;
      if (last?.role === 'assistant') shown[shown.length - 1] = { ...last, blocks: [...last.blocks, ...blocks], error: last.error ?? error };
      else shown.push({ role: 'assistant', blocks, state: 'ended', end: null, error });
    } else if (message.role === 'tool' && last?.role === 'assistant') {
      const answers = new Map(message.answers.map((answer) => [answer.id, answer]));
      const blocks = last.blocks.map((block) => {
        const answer = block.type === 'call' && block.state === 'unknown' ? answers.get(block.id) : undefined;
        return answer ? { ...block, state: 'ended', ok: answer.ok, text: answer.text } : block;
      });
      shown[shown.length - 1] = { ...last, blocks };
    }
  }
  return shown;
}

export async function forgetConversation() {
  if (chat.value.turn || chat.value.earlier) await cancelTurn();
  await remove(`chat/${conversation}`).catch(() => {});
  keepTurn(null);
  remembersMine = 0;
  conversation = keepId(newId());
  chat.value = { loaded: true, messages: [], turn: null, earlier: null, error: null };
}

/** Changes the answer that is being written. */
function updateAnswer(turn, change) {
  const { messages } = chat.value;
  chat.value = { ...chat.value, messages: messages.map((message) => (message.turn === turn ? { ...message, ...change(message) } : message)) };
}

function updateCall(turn, id, change) {
  updateAnswer(turn, ({ blocks }) => ({ blocks: blocks.map((block) => (block.type === 'call' && block.id === id ? { ...block, ...change } : block)) }));
}

function append(turn, type, delta) {
  updateAnswer(turn, ({ blocks }) => {
    const last = blocks[blocks.length - 1];
    return last?.type === type ? { blocks: [...blocks.slice(0, -1), { ...last, text: last.text + delta }] } : { blocks: [...blocks, { type, text: delta }] };
  });
}

/** Puts a call into the answer, or changes the one that is there. */
function ensureCall(turn, { id, tool, arguments: args, hints }, change) {
  updateAnswer(turn, ({ blocks }) => {
    const known = blocks.some((block) => block.type === 'call' && block.id === id);
    const all = known ? blocks : [...blocks, { type: 'call', id, tool, arguments: args, state: 'running', since: performance.now() }];
    return { blocks: all.map((block) => (block.type === 'call' && block.id === id ? { ...block, ...change, hints: hints ?? block.hints } : block)) };
  });
}

/** How many streamed pieces of a call are shown. */
const MAX_PIECES = 100;

function addPiece(turn, { id, parts }) {
  updateAnswer(turn, ({ blocks }) => ({
    blocks: blocks.map((block) => (block.type === 'call' && block.id === id ? { ...block, pieces: [...(block.pieces ?? []), ...(parts ?? [])].slice(-MAX_PIECES) } : block)),
  }));
}

/** Sends what is written. What the server refuses can be changed and sent again. */
export async function send() {
  const { text, files } = draft.value;
  draft.value = EMPTY_DRAFT;
  const refusal = await say(text, files.map(({ name, mimeType, data }) => ({ name, mimeType, data })));
  if (!refusal) return;
  announce(`The message was not sent: ${refusal.error.message}`);
  const isEmpty = draft.value.text === '' && draft.value.files.length === 0;
  // Another message is being written: this one then stays above, with why it was refused.
  if (!isEmpty) return;
  draft.value = { text, files, error: refusal.error };
  keepTurn(null);
  chat.value = { ...chat.value, messages: chat.value.messages.filter((message) => !refusal.messages.includes(message.id)) };
}

/** Says a message and reads the answer as it comes. Resolves to why it was refused, and the ids of the messages that show it. */
async function say(text, attachments) {
  const turn = newId();
  const body = JSON.stringify({ conversation, turn, text, attachments });
  const controller = new AbortController();
  const mine = { id: `mine-${turn}`, role: 'user', text, attachments: attachments.map(({ name, mimeType }) => ({ name, mimeType })) };
  const answer = { id: `answer-${turn}`, role: 'assistant', turn, blocks: [], state: 'running', since: performance.now(), ask: null, end: null, error: null };
  let open = { conversation, text, attachments: mine.attachments, before: remembersMine, run: null, error: null };
  keepTurn(open);
  let refusal = null;
  let isTaken = false;
  chat.value = { ...chat.value, messages: [...chat.value.messages, mine, answer], turn: { id: turn, controller, cancelling: false }, error: null };
  const receive = (message) => {
    isTaken = true;
    switch (message.type) {
      case 'run':
        open = { ...open, run: message.id };
        keepTurn(open);
        break;
      case 'text':
      case 'reasoning':
        append(turn, message.type, message.delta);
        break;
      case 'call':
        ensureCall(turn, message, {});
        break;
      case 'approval':
        ensureCall(turn, { ...message, id: message.call ?? message.id }, { state: 'approval', approval: message.id });
        announce(`The model wants to call ${message.tool}. Allow or deny it.`);
        break;
      case 'progress':
        updateCall(turn, message.id, { progress: message });
        break;
      case 'piece':
        addPiece(turn, message);
        break;
      case 'ask':
        updateAnswer(turn, () => ({ ask: message }));
        announce(`A tool asks: ${message.message}`);
        break;
      case 'result':
        updateCall(turn, message.id, { state: 'ended', ok: message.ok, text: message.text, parts: message.parts, error: message.error, durationMs: message.durationMs });
        break;
      case 'end':
        if (message.reason === 'suspended') {
          const note = { text: 'A call waits for a decision.', run: open.run };
          updateAnswer(turn, () => ({ state: 'ended', end: message, note }));
          announce(note.text);
          break;
        }
        keepTurn(null);
        remembersMine += 1;
        updateAnswer(turn, () => ({ state: 'ended', end: message }));
        announce('The answer is complete.');
        break;
      case 'error':
        open = { ...open, error: message.error.message };
        keepTurn(open);
        updateAnswer(turn, () => ({ state: 'ended', error: message.error }));
        announce(`The chat failed: ${message.error.message}`);
        break;
      default:
    }
  };
  try {
    if (new Blob([body]).size > MAX_MESSAGE_BYTES) throw new Error('The message and its files are too large together.');
    await stream('chat', body, receive, controller.signal);
  } catch (error) {
    const wasCancelled = error.name === 'AbortError';
    if (!wasCancelled && !isTaken) refusal = { error, messages: [mine.id, answer.id] };
    const failure = wasCancelled ? { kind: 'cancelled', message: 'The answer was cancelled.' } : error;
    keepTurn({ ...open, error: failure.message });
    updateAnswer(turn, () => ({ error: failure }));
  }
  // What has no answer will get none: the stream is over.
  updateAnswer(turn, ({ blocks, end, error }) => ({
    state: 'ended',
    error: error ?? (end ? null : { kind: 'connection', message: 'The answer ended early.' }),
    ask: null,
    blocks: blocks.map((block) => (block.type === 'call' && block.state !== 'ended' ? { ...block, state: 'unknown' } : block)),
  }));
  if (chat.value.turn?.id === turn) chat.value = { ...chat.value, turn: null };
  return refusal;
}

export async function cancelTurn() {
  const { turn, earlier } = chat.value;
  if (!turn) {
    if (earlier) await remove(`chat/${earlier}`).catch(() => {});
    return;
  }
  chat.value = { ...chat.value, turn: { ...turn, cancelling: true } };
  try {
    await remove(`chat/${turn.id}`);
  } catch {
    turn.controller.abort();
  }
}

/** Decides about a call that waits: allow, deny or always. */
export async function decideCall(turn, { id, approval }, decision, reason = '') {
  // Before it is sent: the result may be here before the answer to this.
  updateCall(turn, id, { state: 'running', decision, since: performance.now() });
  try {
    await post(`chat/approvals/${encodeURIComponent(approval)}`, JSON.stringify(reason ? { decision, reason } : { decision }));
  } catch (error) {
    updateCall(turn, id, { state: 'approval', decision: null });
    throw error;
  }
}

export async function answerAsk(turn, ask, action, content) {
  const extra = action === 'accept' ? `,"content":${stringify(content)}` : '';
  await post(`chat/${turn}/answers`, `{"ask":${JSON.stringify(ask)},"action":${JSON.stringify(action)}${extra}}`);
  updateAnswer(turn, ({ ask: current }) => ({ ask: current?.ask === ask ? null : current }));
}
