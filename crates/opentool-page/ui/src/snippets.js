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

/** Whether `name=value` on the command line means this value, whatever the schema says about it. */
function isPair(name, value) {
  const plainText = typeof value === 'string' && value !== '' && !/^[[{"\s]|\s$/.test(value);
  return /^[A-Za-z_][A-Za-z0-9_]*$/.test(name) && (plainText || value instanceof JsonNumber || typeof value === 'boolean');
}

/** The same call with curl, the command line, Rust and MCP; `call` has name, arguments (a Map), addresses and keys. */
export function snippets({ name, args, addresses, keys }) {
  const params = stringify(args);
  const base = addresses.opentool.replace(/\/opentool\/?$/, '');
  const message = `{"jsonrpc":"2.0","id":"1","method":${JSON.stringify(name)},"params":${params}}`;
  const key = keys ? ` \\\n  -H "Authorization: Bearer $OPENTOOL_API_KEY"` : '';
  const entries = [...args];
  const pairs = entries.every(([argument, value]) => isPair(argument, value))
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
