import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Broken, parse } from '../../src/json.js';
import { placedProblems, problemsOf } from '../../src/problems.js';

const schema = (value) => parse(JSON.stringify(value));
const placed = (problems, root, value) => placedProblems(problems, schema(root), parse(value)).map(({ pointer }) => pointer);

test('a missing argument is shown at its field', () => {
  const root = { type: 'object', properties: { a: { type: 'integer' }, 'b/c': {} }, required: ['a', 'b/c'] };
  const problems = [
    { pointer: '', message: 'missing required argument "a" (integer)' },
    { pointer: '', message: 'missing required argument "b/c"' },
    { pointer: '', message: 'expected at least 2 members, got 0' },
  ];
  assert.deepEqual(placed(problems, root, '{}'), ['/a', '/b~1c', '']);
  // What is there is not missing, whatever a message names.
  assert.deepEqual(placed(problems.slice(0, 1), root, '{"a":1}'), ['']);
});

test('a missing property of an object inside is shown at its field', () => {
  const point = { type: 'object', properties: { x: { type: 'integer' } }, required: ['x'] };
  const root = {
    type: 'object',
    properties: { at: { $ref: '#/$defs/point' }, list: { type: 'array', items: { oneOf: [{ type: 'string' }, { $ref: '#/$defs/point' }] } } },
    $defs: { point },
  };
  const problems = ['/at', '/list/1', '/other'].map((pointer) => ({ pointer, message: 'missing required property "x"' }));
  assert.deepEqual(placed(problems, root, '{"at":{},"list":["a",{}],"other":{}}'), ['/at/x', '/list/1/x', '/other']);
});

test('an answer is checked before it is sent', () => {
  const root = schema({
    type: 'object',
    properties: { name: { type: 'string', minLength: 2 }, age: { type: ['integer', 'null'], maximum: 150 }, tags: { type: 'array', items: { type: 'string' }, maxItems: 1 } },
    required: ['name', 'age'],
  });
  const wrong = (value) => problemsOf(parse(value), root).map(({ pointer, message }) => `${pointer} ${message}`);
  assert.deepEqual(wrong('{}'), ['/name this is required', '/age this is required']);
  assert.deepEqual(wrong('{"name":"A","age":"many"}'), ['/name at least 2 characters', '/age this must be an integer']);
  assert.deepEqual(wrong('{"name":"Ann","age":200,"tags":[1,"b"]}'), ['/age at most 150', '/tags at most 1 item', '/tags/0 this must be text']);
  assert.deepEqual(wrong('{"name":"Ann","age":null}'), []);
  assert.deepEqual(problemsOf(new Map([['name', new Broken('')], ['age', null]]), root).map(({ pointer }) => pointer), ['/name']);
});

test('an answer of a schema that leads back to itself is checked', () => {
  const root = schema({ properties: { next: { $ref: '#' } }, required: ['next'] });
  assert.deepEqual(problemsOf(parse('{"next":{"next":{}}}'), root).map(({ pointer }) => pointer), ['/next/next/next']);
});
