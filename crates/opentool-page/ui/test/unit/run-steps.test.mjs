import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse } from '../../src/json.js';
import { describeStep } from '../../src/run-steps.js';

const described = (kind, body) => describeStep(kind, parse(JSON.stringify(body)));
const response = (message) => ({ generations: [{ message, finish_reason: 'stop' }] });

test('a request says who is asked what', () => {
  const messages = [{ role: 'system', text: 'Be brief.' }, { role: 'user', text: 'Before.' }, { role: 'assistant', text: 'Yes.' }, { role: 'user', text: 'Pay.' }];
  const step = described('request', { within: '', messages, provider: 'openai', model: 'small', tools: [{ name: 'pay' }] });
  assert.deepEqual([step.title, step.about, step.text, step.within], ['The model is asked', 'openai:small · 1 tool', 'Pay.', '']);
});

test('an answer shows what is said and called', () => {
  const message = { text: 'I pay.', tool_calls: [{ id: 'a', name: 'pay', arguments: '{"n":1}' }, { id: 'b', name: 'pay', arguments: '{' }] };
  const step = described('answer', { within: '1.0', round: 1, response: response(message) });
  assert.deepEqual([step.title, step.text, step.within], ['The model makes 2 calls', 'I pay.', '1.0']);
  assert.deepEqual(step.calls, [{ tool: 'pay', arguments: '{"n":1}' }, { tool: 'pay', arguments: '{' }]);
  assert.equal(described('answer', { response: response({ text: 'Paid.' }) }).title, 'The model answers');
});

test('a decision names its call', () => {
  const titled = (decision) => {
    const { title, text, tone } = described('decision', { place: '1.0', decision });
    return [title, text, tone];
  };
  assert.deepEqual(titled('approve'), ['Call 1.0 is allowed', '', 'good']);
  assert.deepEqual(titled({ deny: 'not now' }), ['Call 1.0 is denied', 'not now', 'bad']);
  assert.deepEqual(titled({ edit: '{"n":2}' }), ['Call 1.0 is allowed with other arguments', '{"n":2}', 'good']);
});

test('rounds, waiting, saving and the end are said in words', () => {
  assert.equal(described('round', { round: 2 }).title, 'Round 2: every call has its outcome');
  assert.deepEqual(described('round', { round: 2, failed: { tool: 'pay', error: { kind: 'failed', message: 'no money' } } }).text, 'no money');
  assert.equal(described('suspended', { round: 1, calls: [{ place: '1.0', tool: 'pay' }, { place: '1.1', tool: 'send' }] }).about, 'pay (call 1.0), send (call 1.1)');
  assert.equal(described('saved', { count: 3 }).about, '3 messages');
  const answered = described('end', { end: 'answered', response: response({ text: 'Paid.' }) });
  assert.deepEqual([answered.title, answered.text, answered.tone], ['The end: answered', 'Paid.', 'good']);
  const failed = described('end', { end: 'tool_failed', error: { cause: 'tool', message: 'no money' } });
  assert.deepEqual([failed.title, failed.text, failed.tone], ['The end: tool failed', 'no money', 'bad']);
});

test('a long text is cut, and what is not known stays as it is', () => {
  const long = described('answer', { response: response({ text: 'a'.repeat(5000) }) });
  assert.equal(long.text.length, 2001);
  assert.equal(described('note', { text: 'hi' }), null);
  assert.equal(described('constructor', {}), null);
  assert.equal(describeStep('answer', 'text'), null);
  assert.equal(described('decision', { place: '1.0', decision: 'suspend' }), null);
  // What another version noted is no reason to fail.
  assert.equal(described('answer', { response: 7 }).title, 'The model answers');
});
