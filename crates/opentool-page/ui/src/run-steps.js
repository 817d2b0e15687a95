// What the steps of a recorded chat say, in words. A body is JSON as `json.js` reads it: objects are Maps.

import { plural } from './format.js';

/** How much of a text stands in the timeline; the record below has all of it. */
const MOST = 2000;

const cut = (text) => (text.length > MOST ? `${text.slice(0, MOST)}…` : text);
const member = (value, ...names) => names.reduce((current, name) => (current instanceof Map ? current.get(name) : undefined), value);
const text = (value, ...names) => {
  const found = member(value, ...names);
  return typeof found === 'string' ? found : '';
};
const list = (value, ...names) => {
  const found = member(value, ...names);
  return Array.isArray(found) ? found : [];
};
const number = (value, ...names) => Number(member(value, ...names)?.text ?? 0);

const ENDS = {
  answered: ['The end: answered', 'good'],
  answered_at_limit: ['The end: answered, at a limit of the turn', 'warn'],
  cut_off: ['The end: the answer was cut off', 'warn'],
  filtered: ['The end: the provider withheld the rest', 'bad'],
  refused: ['The end: the model refused', 'bad'],
  return_direct: ['The end: the result of a tool is the answer', 'good'],
  calls_left: ['The end: the caller runs the calls', 'good'],
};

function messageOf(response) {
  const messages = list(response, 'generations').map((each) => member(each, 'message'));
  const calls = messages.flatMap((message) => list(message, 'tool_calls'));
  return { said: messages.map((message) => text(message, 'text')).join(''), calls: calls.map((call) => ({ tool: text(call, 'name'), arguments: text(call, 'arguments') })) };
}

function decision(body) {
  const decided = member(body, 'decision');
  const place = text(body, 'place');
  if (decided === 'approve') return { title: `Call ${place} is allowed`, tone: 'good' };
  if (member(decided, 'deny') !== undefined) return { title: `Call ${place} is denied`, tone: 'bad', text: text(decided, 'deny') };
  if (member(decided, 'edit') !== undefined) return { title: `Call ${place} is allowed with other arguments`, tone: 'good', text: text(decided, 'edit') };
  return null;
}

const STEPS = {
  request(body) {
    const asked = list(body, 'messages').filter((message) => text(message, 'role') === 'user');
    const model = [text(body, 'provider'), text(body, 'model')].filter(Boolean).join(':');
    return { title: 'The model is asked', about: [model, plural(list(body, 'tools').length, 'tool')].filter(Boolean).join(' · '), text: text(asked[asked.length - 1], 'text') };
  },
  answer(body) {
    const { said, calls } = messageOf(member(body, 'response'));
    return { title: calls.length > 0 ? `The model makes ${plural(calls.length, 'call')}` : 'The model answers', text: said, calls };
  },
  round(body) {
    const problem = text(body, 'limit', 'message') || text(body, 'failed', 'error', 'message');
    return { title: `Round ${number(body, 'round')}: every call has its outcome`, text: problem, tone: problem ? 'bad' : '' };
  },
  suspended(body) {
    const calls = list(body, 'calls').map((call) => `${text(call, 'tool')} (call ${text(call, 'place')})`);
    return { title: 'The run stops until it is decided', about: calls.join(', '), tone: 'warn' };
  },
  decision,
  saving: (body) => ({ title: 'The conversation is about to be saved', about: plural(number(body, 'count'), 'message') }),
  saved: (body) => ({ title: 'The conversation is saved', about: plural(number(body, 'count'), 'message') }),
  end(body) {
    const word = text(body, 'end');
    const [title, tone] = ENDS[word] ?? [`The end: ${word.replace(/_/g, ' ')}`, 'bad'];
    return { title, tone, text: text(body, 'error', 'message') || messageOf(member(body, 'response')).said };
  },
};

/** The title of a step, and what there is of a note, a text, calls and a tone; null where the step is none of a chat. */
export function describeStep(kind, body) {
  if (!(body instanceof Map) || !Object.hasOwn(STEPS, kind)) return null;
  const described = STEPS[kind](body);
  if (described === null) return null;
  return { about: '', calls: [], tone: '', within: text(body, 'within'), ...described, text: cut(described.text ?? '') };
}
