// A call in the words of other programs.

import { JsonNumber, stringify } from './json.js';

/** A text as one word of a POSIX shell. */
export function shellWord(text) {
  return /^[A-Za-z0-9_./:=@%+,-]+$/.test(text) ? text : `'${text.replace(/'/g, `'\\''`)}'`;
}

/** A text as a raw string literal of Rust. */
export function rustString(text) {
  const runs = [...text.matchAll(/"(#*)/g)].map((found) => found[1].length + 1);
  const marks = '#'.repeat(Math.max(0, ...runs));
  return `r${marks}"${text}"${marks}`;
}

/** Whether `name=value` on the command line means this value: its property has one plain type, in whose words the program reads it. */
function isPair(name, value, properties) {
  const schema = properties instanceof Map ? properties.get(name) : undefined;
  if (!(schema instanceof Map) || schema.has('$ref') || !/^[A-Za-z_][A-Za-z0-9_]*$/.test(name)) return false;
  switch (schema.get('type')) {
    case 'string':
      // Neither an argument of a program nor UTF-8 has those characters.
      return typeof value === 'string' && value !== '' && !/[\0\ud800-\udfff]/u.test(value);
    case 'integer':
      return value instanceof JsonNumber && /^-?\d+$/.test(value.text);
    case 'number':
      return value instanceof JsonNumber;
    case 'boolean':
      return typeof value === 'boolean';
    default:
      return false;
  }
}

/** The same call with curl, the command line, Rust and MCP: `args` is a Map, `schema` what the tool says of its arguments. */
export function snippets({ name, args, schema, addresses, keys }) {
  const params = stringify(args);
  const base = addresses.opentool.replace(/\/opentool\/?$/, '');
  const message = `{"jsonrpc":"2.0","id":"1","method":${JSON.stringify(name)},"params":${params}}`;
  const key = keys ? ` \\\n  -H "Authorization: Bearer $OPENTOOL_API_KEY"` : '';
  const entries = [...args];
  const pairs = entries.every(([argument, value]) => isPair(argument, value, schema?.get('properties')))
    ? entries.map(([argument, value]) => ` ${shellWord(`${argument}=${typeof value === 'string' ? value : stringify(value)}`)}`).join('')
    : ` --args ${shellWord(params)}`;
  return [
    { id: 'curl', label: 'curl', text: `curl ${shellWord(`${addresses.opentool}/call`)}${key} \\\n  --json ${shellWord(message)}` },
    { id: 'cli', label: 'CLI', text: `${keys ? 'OPENTOOL_API_KEY=… ' : ''}opentool call ${shellWord(base)} ${shellWord(name)}${pairs}` },
    {
      id: 'rust',
      label: 'Rust',
      text: [
        'use opentool::{Executor, client::Client};',
        '',
        `let client = Client::new(${JSON.stringify(base)})${keys ? '.api_key(std::env::var("OPENTOOL_API_KEY")?)' : ''};`,
        'let host = Executor::new().host(client.toolbox().await?);',
        `let output = host.call(${rustString(name)}, ${rustString(params)}).await?;`,
        'println!("{}", output.to_text());',
      ].join('\n'),
    },
    {
      id: 'mcp',
      label: 'MCP',
      text: stringify(
        new Map([
          ['jsonrpc', '2.0'],
          ['id', new JsonNumber('1')],
          ['method', 'tools/call'],
          ['params', new Map([['name', name], ['arguments', args]])],
        ]),
        2,
      ),
    },
  ];
}
