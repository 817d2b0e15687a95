import assert from 'node:assert/strict';
import { execFileSync } from 'node:child_process';
import { test } from 'node:test';
import { search } from '../../src/fuzzy.js';
import { parse } from '../../src/json.js';
import { blocks, inline } from '../../src/markdown.js';
import { readRoute, readToken, toolLink } from '../../src/route.js';
import { rustString, shellWord, snippets } from '../../src/snippets.js';

test('a link to a tool is read back, whatever its name', () => {
  for (const name of ['add', 'a/b', 'ü ?#&=%', '100%']) {
    const args = '{"a":"1&2#?+ ü"}';
    assert.deepEqual(readRoute(toolLink(name, args)), { view: 'tool', name, args });
  }
  assert.deepEqual(readRoute('#/tools/%E0%A4'), { view: 'tool', name: '%E0%A4', args: null });
  assert.deepEqual(readRoute('#/nowhere'), { view: 'tools' });
  assert.deepEqual(readRoute('#/runs/a%2Fb'), { view: 'run', id: 'a/b' });
});

test('a token is read with its target, which stays on the page', () => {
  assert.deepEqual(readToken('#token=abc&to=/tools/add'), { token: 'abc', to: '/tools/add' });
  assert.deepEqual(readToken('#token=abc&to=https://evil'), { token: 'abc', to: '/tools' });
  assert.equal(readToken('#/tools'), null);
});

test('a shell reads every word as it was', () => {
  for (const word of ["it's", 'a b', '$HOME `x` "q" \\', 'a\nb', '', '-n', "''"]) {
    const read = execFileSync('sh', ['-c', `printf '%s|' ${shellWord(word)}`], { encoding: 'utf8' });
    assert.equal(read, `${word}|`);
  }
});

test('a Rust literal has marks enough', () => {
  assert.equal(rustString('add'), 'r"add"');
  assert.equal(rustString('{"a":1}'), 'r#"{"a":1}"#');
  assert.equal(rustString('a"#b'), 'r##"a"#b"##');
});

const TYPED = { type: 'object', properties: { a: { type: 'integer' }, b: { type: 'string' }, c: { type: 'number' }, d: { type: 'boolean' }, e: { type: ['string', 'null'] }, f: { anyOf: [{ type: 'integer' }, { type: 'string' }] }, g: {} } };
const call = (args, { keys = false, schema = TYPED } = {}) =>
  Object.fromEntries(
    snippets({ name: 'add', args: parse(args), schema: parse(JSON.stringify(schema)), addresses: { opentool: 'http://127.0.0.1:9627/opentool' }, keys }).map(({ id, text }) => [id, text]),
  );

test('the call in other words', () => {
  const plain = call('{"a":9007199254740993,"b":"x y"}');
  assert.equal(plain.cli, "opentool call http://127.0.0.1:9627 add a=9007199254740993 'b=x y'");
  assert.match(plain.curl, /--json '\{"jsonrpc":"2.0","id":"1","method":"add","params":\{"a":9007199254740993,"b":"x y"\}\}'$/);
  assert.match(plain.mcp, /"method": "tools\/call"/);
  assert.match(call('{}', { keys: true }).curl, /Bearer \$OPENTOOL_API_KEY/);
});

test('the command line gets pairs only where it reads them back', () => {
  const words = (args, schema) => call(args, { schema }).cli.replace('opentool call http://127.0.0.1:9627 add', '').trim();
  assert.equal(words('{"a":1,"b":"[5]","c":1.50,"d":false}'), "a=1 'b=[5]' c=1.50 d=false");
  for (const args of ['{"a":1.0}', '{"a":"1"}', '{"a":{"b":1}}', '{"b":""}', '{"b":5}', '{"e":"null"}', '{"f":"5"}', '{"g":"5"}', '{"h":"5"}', '{"b":"\\u0000"}', '{"b":"\\ud800"}']) {
    assert.equal(words(args), `--args '${args}'`);
  }
  assert.equal(words('{"b":"5"}', { type: 'object' }), `--args '{"b":"5"}'`);
});

test('search forgives, and the best match comes first', () => {
  const tools = ['current_date_time', 'add', 'add_note', 'read_note'].map((name) => ({ name, description: name === 'read_note' ? 'Read what was added.' : '' }));
  assert.deepEqual(search(tools, 'add').map((tool) => tool.name), ['add', 'add_note', 'read_note']);
  assert.deepEqual(search(tools, 'cdt').map((tool) => tool.name), ['current_date_time']);
  assert.deepEqual(search(tools, 'note read').map((tool) => tool.name), ['read_note']);
  assert.equal(search(tools, '').length, 4);
  assert.equal(search(tools, 'zzz').length, 0);
});

test('markdown becomes a tree, and HTML stays text', () => {
  assert.deepEqual(inline('a **b `c`** <img src=x onerror=y> *d*'), [
    'a ',
    { type: 'strong', inline: ['b ', { type: 'code', text: 'c' }] },
    ' <img src=x onerror=y> ',
    { type: 'emphasis', inline: ['d'] },
  ]);
  assert.deepEqual(inline('![x](http://evil/x.png)'), [{ type: 'image', alt: 'x', target: 'http://evil/x.png' }]);
  assert.deepEqual(inline('[x](javascript:alert(1))').join(''), '[x](javascript:alert(1))');
  assert.deepEqual(inline('snake_case_name and 2*3*4'), ['snake_case_name and 2', { type: 'emphasis', inline: ['3'] }, '4']);
  const tree = blocks('# T\n\ntext\nmore\n\n- a\n  - b\n- c\n\n1. x\n\n```js\n<b>\n```\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n> q');
  assert.deepEqual(tree.map((block) => block.type), ['heading', 'paragraph', 'list', 'list', 'code', 'table', 'quote']);
  assert.equal(tree[2].items.length, 2);
  assert.equal(tree[2].items[0][1].type, 'list');
  assert.equal(tree[4].text, '<b>');
});

test('text without an end takes no longer than its length', () => {
  const begun = performance.now();
  for (const text of ['*a '.repeat(20_000), '`'.repeat(20_000), '['.repeat(20_000), '_a'.repeat(20_000), '> '.repeat(5_000), '**a'.repeat(20_000), '- '.repeat(5_000)]) blocks(text);
  assert.ok(performance.now() - begun < 5_000, `${performance.now() - begun} ms`);
});
