import assert from 'node:assert/strict';
import { test } from 'node:test';
import { parse, stringify } from '../../src/json.js';
import { constraints, initial, itemSchema, otherProperties, shapeOf, variantName, variantOf, withoutSecrets } from '../../src/schema.js';

const schema = (value) => parse(JSON.stringify(value));
const kindOf = (value) => {
  const root = schema(value);
  const { kind, nullable } = shapeOf(root, root);
  return nullable ? `${kind}?` : kind;
};

for (const [name, value, kind] of [
  ['a string', { type: 'string' }, 'string'],
  ['an integer or null', { type: ['integer', 'null'] }, 'integer?'],
  ['anyOf with null', { anyOf: [{ type: 'number' }, { type: 'null' }] }, 'number?'],
  ['an OpenAPI nullable', { type: 'string', nullable: true }, 'string?'],
  ['an enum', { enum: ['a', 1] }, 'enum'],
  ['an enum with null', { enum: ['a', null] }, 'enum?'],
  ['constants that are described', { oneOf: [{ const: 'a', description: 'x' }, { const: 'b' }] }, 'enum'],
  ['a constant', { const: 1 }, 'const'],
  ['objects to choose from', { oneOf: [{ type: 'object', properties: { a: {} } }, { type: 'string' }] }, 'choice'],
  ['several types', { type: ['string', 'integer'] }, 'choice'],
  ['no type but properties', { properties: {} }, 'object'],
  ['no type but items', { items: {} }, 'array'],
  ['a reference', { $ref: '#/$defs/x', $defs: { x: { type: 'boolean' } } }, 'boolean'],
  ['a reference without a target', { $ref: '#/$defs/y' }, 'json'],
  ['a reference to another document', { $ref: 'https://example.org/x' }, 'json'],
  ['a reference to itself', { $ref: '#' }, 'json'],
  ['allOf that can be merged', { allOf: [{ type: 'object', properties: { a: {} } }, { required: ['a'] }] }, 'object'],
  ['allOf that cannot', { allOf: [{ type: 'string' }, { type: 'integer' }] }, 'json'],
  ['allOf that leads back to itself', { allOf: [{ $ref: '#' }] }, 'json'],
  ['anyOf that leads back to itself', { anyOf: [{ $ref: '#' }] }, 'json'],
  ['words that are no schema', { type: [], oneOf: [], enum: [] }, 'json'],
  ['an unknown type', { type: 'date' }, 'json'],
  ['nothing', {}, 'json'],
]) {
  test(`a field for ${name}`, () => assert.equal(kindOf(value), kind));
}

test('what a schema demands, in words', () => {
  const words = (value) => constraints(schema(value)).join('; ');
  assert.equal(words({ minimum: 1, maximum: 1000 }), '1 to 1000');
  assert.equal(words({ minLength: 1, pattern: '^a' }), 'at least 1 character; matches ^a');
  assert.equal(words({ maxItems: 3, uniqueItems: true }), 'at most 3 items; no item twice');
  assert.equal(constraints(parse('{"maximum": 18446744073709551614}')).join(), 'at most 18446744073709551614');
  assert.equal(constraints(parse('{"minimum": 0, "maximum": 18446744073709551615}')).join(), 'at least 0');
  assert.equal(constraints(parse('{"minimum": -9223372036854775808, "maximum": 9223372036854775807}')).join(), '');
});

test('a form starts with what can only be one thing', () => {
  const root = schema({
    type: 'object',
    properties: { kind: { const: 'circle' }, at: { type: 'object', properties: { unit: { const: 'm' } }, required: ['unit'] }, other: { const: 1 }, x: { type: 'string' } },
    required: ['kind', 'at', 'x'],
  });
  assert.equal(stringify(initial(root, root)), '{"kind":"circle","at":{"unit":"m"}}');
});

test('the variant that suits a value is chosen', () => {
  const root = schema({});
  const variants = [
    schema({ type: 'object', properties: { kind: { const: 'circle' }, radius: { type: 'number' } }, required: ['kind'] }),
    schema({ type: 'object', properties: { kind: { const: 'square' }, side: { type: 'number' } }, required: ['kind'] }),
    schema({ type: 'string' }),
  ];
  assert.equal(variantOf(variants, parse('{"kind":"square","side":1}'), root), 1);
  assert.equal(variantOf(variants, 'text', root), 2);
  assert.deepEqual(variants.map((variant, index) => variantName(variant, root, index)), ['kind: circle', 'kind: square', 'string']);
});

test('a tag decides which variant is meant, even where another property is wrong', () => {
  const variants = [
    schema({ type: 'object', properties: { kind: { const: 'circle' }, size: { type: 'string' } }, required: ['kind'] }),
    schema({ type: 'object', properties: { kind: { enum: ['square'] }, size: { type: 'number' }, angle: { type: 'number' } }, required: ['kind', 'size', 'angle'] }),
    schema({ type: 'object', properties: { size: { type: 'string' } } }),
  ];
  assert.equal(variantOf(variants, parse('{"kind":"square","size":"big"}'), schema({})), 1);
  assert.equal(variantOf(variants, parse('{"kind":"circle","size":1}'), schema({})), 0);
  assert.equal(variantOf(variants, parse('{"size":"big"}'), schema({})), 2);
});

test('items and further properties', () => {
  const words = schema({ prefixItems: [{ type: 'string' }], items: { type: 'integer' } });
  assert.equal(itemSchema(words, 0).get('type'), 'string');
  assert.equal(itemSchema(words, 1).get('type'), 'integer');
  assert.equal(otherProperties(schema({ properties: {}, additionalProperties: false })), null);
  assert.equal(otherProperties(schema({ additionalProperties: { type: 'string' } })).get('type'), 'string');
});

test('secrets are found in every variant and behind references', () => {
  const root = schema({
    type: 'object',
    properties: {
      user: { type: 'string' },
      password: { type: 'string', format: 'password' },
      login: { anyOf: [{ type: 'string' }, { $ref: '#/$defs/token' }] },
      list: { type: 'array', items: { type: 'object', properties: { key: { type: 'string', writeOnly: true } } } },
      map: { type: 'object', additionalProperties: { format: 'password' } },
    },
    $defs: { token: { type: 'object', properties: { token: { allOf: [{ format: 'password' }] } } } },
  });
  const value = parse('{"user":"ann","password":"p1","login":{"token":"p2","id":1},"list":[{"key":"p3","n":2}],"map":{"x":"p4"}}');
  const { value: kept, removed } = withoutSecrets(value, root);
  assert.equal(stringify(kept), '{"user":"ann","login":{"id":1},"list":[{"n":2}],"map":{}}');
  assert.deepEqual(removed, ['/password', '/login/token', '/list/0/key', '/map/x']);
});

test('secrets are found under patterns, in tuples and under conditions', () => {
  const secret = { type: 'string', format: 'password' };
  const root = schema({
    type: 'object',
    patternProperties: { '^key_': secret, '[': { type: 'string' } },
    properties: {
      pair: { type: 'array', prefixItems: [{ type: 'string' }, secret] },
      list: { type: 'array', items: { oneOf: [{ type: 'integer' }, { $ref: '#/$defs/secret' }] } },
      inner: { allOf: [{ patternProperties: { x: secret } }], additionalProperties: { type: 'string' } },
      some: { if: { properties: { a: { const: 1 } } }, then: { properties: { b: secret } } },
      rest: { unevaluatedProperties: secret },
    },
    $defs: { secret },
  });
  const value = parse('{"key_a":"p1","pair":["ann","p2"],"list":[1,"p3"],"inner":{"x":"p4","y":"n"},"some":{"a":1,"b":"p5"},"rest":{"z":"p6"}}');
  const { removed } = withoutSecrets(value, root);
  assert.deepEqual(removed, ['/key_a', '/pair/1', '/list/0', '/list/1', '/inner/x', '/some/b', '/rest/z']);
});

test('secrets are looked for in schemas that lead back to themselves', () => {
  const node = { anyOf: Array.from({ length: 10 }, (_, index) => ({ $ref: `#/$defs/n${index}` })), properties: { next: { $ref: '#/$defs/n0' }, key: { format: 'password' } } };
  const root = schema({ $ref: '#/$defs/n0', $defs: Object.fromEntries(Array.from({ length: 10 }, (_, index) => [`n${index}`, node])) });
  const { removed } = withoutSecrets(parse('{"next":{"next":{"key":"x"}}}'), root);
  assert.deepEqual(removed, ['/next/next/key']);
});
