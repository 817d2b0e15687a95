import assert from 'node:assert/strict';
import { test } from 'node:test';
import { Broken, JsonError, JsonNumber, enclosing, equal, findBroken, isNumberText, parse, plain, pointerSegments, stringify, valueAt } from '../../src/json.js';

test('numbers, key order and odd keys survive both ways', () => {
  const text = '{"z":9007199254740993,"1":1.0,"0":-0,"e":1E+400,"__proto__":{"a":[]},"":"\\u0000 \\ud83d\\ude00 ü"}';
  const value = parse(text);
  assert.equal(stringify(value), '{"z":9007199254740993,"1":1.0,"0":-0,"e":1E+400,"__proto__":{"a":[]},"":"\\u0000 😀 ü"}');
  assert.equal(stringify(parse(stringify(value, 2))), stringify(value));
});

test('a lone surrogate is written as an escape', () => {
  assert.equal(stringify(parse('"\\ud800"')), '"\\ud800"');
});

test('indented text has one member a line', () => {
  assert.equal(stringify(parse('{"a":[1,{}],"b":[]}'), 2), '{\n  "a": [\n    1,\n    {}\n  ],\n  "b": []\n}');
});

for (const [text, line, column, message] of [
  ['', 1, 1, 'expected a value, found the end'],
  ['{"a": 1,}', 1, 8, 'there is no member after this comma'],
  ['[1,\n 2,]', 2, 3, 'there is no value after this comma'],
  ['{"a": 1, "a": 2}', 1, 10, 'the name `a` stands here twice'],
  ['{a: 1}', 1, 2, 'expected a name in double quotes, found `a`'],
  ['{"a" 1}', 1, 6, 'expected `:`, found `1`'],
  ['[1 2]', 1, 4, 'expected `,` or `]`, found `2`'],
  ['"abc', 1, 1, 'this string has no end'],
  ['"a\nb"', 1, 3, 'a line break or control character in a string is written as an escape, such as \\n'],
  ['"\\x"', 1, 2, 'there is no escape \\x'],
  ['"\\u12g4"', 1, 2, 'after \\u stand four hexadecimal digits'],
  ['01', 1, 2, 'expected the end, found `1`'],
  ['nul', 1, 1, 'expected a value, found `n`'],
  ['{} {}', 1, 4, 'expected the end, found `{`'],
  ['['.repeat(600), 1, 514, 'more than 512 levels of nesting'],
]) {
  test(`the place of what is wrong with ${text.slice(0, 20)}`, () => {
    assert.throws(() => parse(text), (error) => {
      assert.ok(error instanceof JsonError);
      assert.deepEqual([error.line, error.column, error.message], [line, column, message]);
      return true;
    });
  });
}

test('what JSON.parse accepts is accepted, and what it refuses is refused', () => {
  for (const text of ['-', '1.', '.5', '+1', '1e', '00', '-01', 'tru', '[,]', '{,}', '{"a"}', '\u00a01', '"\t"', "'a'", 'NaN', '1 ', ' [ ] ', '{"a":{"b":[null,true,false,"\\/"]}}', '1e5', '-0.5E-3']) {
    let expected = true;
    try {
      JSON.parse(text);
    } catch {
      expected = false;
    }
    let accepted = true;
    try {
      parse(text);
    } catch {
      accepted = false;
    }
    assert.equal(accepted, expected, text);
  }
});

test('every value has a place in the text', () => {
  const text = '{"a/b": [10, {"c~d": "x"}]}';
  const places = new Map();
  parse(text, { places });
  assert.equal(text.slice(...places.get('/a~1b/0')), '10');
  assert.equal(text.slice(...places.get('/a~1b/1/c~0d')), '"x"');
  assert.equal(text.slice(...places.get('')), text);
});

test('a message of the server becomes ordinary values, but for what must stay exact', () => {
  const message = plain(parse('{"type":"x","n":1.5,"result":{"big":9007199254740993}}'), new Set(['result']));
  assert.equal(message.n, 1.5);
  assert.equal(message.result.get('big').text, '9007199254740993');
});

test('values are compared as JSON', () => {
  assert.ok(equal(parse('{"a":[1.0],"b":null}'), parse('{"b":null,"a":[1]}')));
  assert.ok(!equal(parse('9007199254740993'), parse('9007199254740992')));
  assert.ok(!equal(parse('[]'), parse('{}')));
});

test('text that is not JSON yet is kept, found and written as it is', () => {
  const value = new Map([['a', [new JsonNumber('1'), new Broken('{"x')]]]);
  assert.deepEqual(findBroken(value), { pointer: '/a/1', text: '{"x' });
  assert.equal(stringify(value), '{"a":[1,{"x]}');
});

test('pointers', () => {
  assert.deepEqual(pointerSegments('/a~1b/~01'), ['a/b', '~1']);
  assert.deepEqual(enclosing('/a/0/b'), ['/a/0', '/a', '']);
  assert.equal(valueAt(parse('{"a":[{"b":"x"}]}'), '/a/0/b'), 'x');
  assert.equal(valueAt(parse('{"a":1}'), '/a/b/c'), undefined);
});

test('the text of a number', () => {
  for (const text of ['0', '-1', '1.50', '1e9', '123456789012345678901234567890']) assert.ok(isNumberText(text), text);
  for (const text of ['', '-', '1.', '01', '1 ', 'a', '1,5', '0x1', '+1']) assert.ok(!isNumberText(text), text);
});
