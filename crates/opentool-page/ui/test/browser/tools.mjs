// An MCP server on stdio with what the demo tools do not have: a long call with progress, an image, a sound, a secret argument, and a
// call with an effect that does not end by itself.

import { createInterface } from 'node:readline';
import { deflateSync } from 'node:zlib';

const send = (message) => process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`);
const object = (properties, required = Object.keys(properties)) => ({ type: 'object', properties, required });

const TOOLS = [
  {
    name: 'count_slowly',
    description: 'Count to a number, a tenth of a second for each step.',
    inputSchema: object({ to: { type: 'integer', minimum: 1, maximum: 10_000, description: 'How far.' } }),
  },
  { name: 'count_cancelled', description: 'How many calls of this server were cancelled.', inputSchema: object({}) },
  {
    name: 'draw_square',
    description: 'Draw a square in one colour.',
    inputSchema: object({ colour: { type: 'string', pattern: '^#[0-9a-f]{6}$', description: 'The colour, for instance `#0b6e69`.' } }),
  },
  {
    name: 'play_tone',
    description: 'Play a tone for half a second.',
    inputSchema: object({ hertz: { type: 'integer', minimum: 20, maximum: 4000, description: 'How high it is.' } }),
  },
  {
    name: 'log_in',
    description: 'Log in.',
    inputSchema: object({
      user: { type: 'string', maxLength: 60, description: 'The name of the user.' },
      password: { type: 'string', format: 'password', description: 'The password.' },
    }),
  },
  {
    name: 'send_letter',
    description: 'Send a letter. It takes a minute.',
    inputSchema: object({ to: { type: 'string', maxLength: 200, description: 'Who gets it.' } }),
  },
  {
    name: 'book_room',
    title: 'Book a room',
    description: 'Book a room for some nights.',
    inputSchema: object(
      {
        guest: { type: 'object', description: 'Who stays.', properties: { name: { type: 'string', minLength: 1 }, age: { type: 'integer', minimum: 0 } }, required: ['name'] },
        nights: { type: 'integer', minimum: 1, maximum: 30, description: 'How many nights.' },
        board: { enum: ['none', 'half', 'full'], default: 'none', description: 'The meals.' },
        pets: { type: 'boolean', description: 'Whether animals come too.' },
        wishes: { type: 'array', items: { type: 'string' }, maxItems: 3, description: 'What else is wanted.' },
        payment: {
          description: 'How it is paid.',
          oneOf: [object({ kind: { const: 'card' }, number: { type: 'string' } }), object({ kind: { const: 'cash' } })],
        },
        note: { type: ['string', 'null'], description: 'A note, or null.' },
      },
      ['guest', 'nights', 'pets'],
    ),
  },
  {
    name: 'fill_in',
    description: `Fill in a form, which comes back as it was: https://example.org/${'long'.repeat(20)}`,
    inputSchema: {
      ...object(
        {
          numbers: { type: 'array', items: { type: ['integer', 'null'] } },
          code: { type: 'string', pattern: '^a', maxLength: 100 },
          day: { type: 'string', format: 'date' },
          'two words': { type: 'integer', description: 'A name with a space.' },
          inner: object({ x: { type: 'integer' } }),
        },
        ['two words'],
      ),
      minProperties: 2,
      additionalProperties: { type: 'string' },
    },
  },
];

const running = new Map();
let cancelled = 0;

function crc32(bytes) {
  let crc = ~0;
  for (const byte of bytes) {
    crc ^= byte;
    for (let bit = 0; bit < 8; bit += 1) crc = (crc >>> 1) ^ (crc & 1 ? 0xedb88320 : 0);
  }
  return ~crc >>> 0;
}

/** A PNG of one colour. */
function square(colour, side = 120) {
  const chunk = (type, data) => {
    const body = Buffer.concat([Buffer.from(type), data]);
    const frame = Buffer.alloc(body.length + 8);
    frame.writeUInt32BE(data.length, 0);
    body.copy(frame, 4);
    frame.writeUInt32BE(crc32(body), body.length + 4);
    return frame;
  };
  const head = Buffer.alloc(13);
  head.writeUInt32BE(side, 0);
  head.writeUInt32BE(side, 4);
  head.set([8, 2, 0, 0, 0], 8);
  const row = Buffer.concat([Buffer.from([0]), ...Array(side).fill(Buffer.from(colour.slice(1), 'hex'))]);
  const rows = deflateSync(Buffer.concat(Array(side).fill(row)));
  return Buffer.concat([Buffer.from('\x89PNG\r\n\x1a\n', 'latin1'), chunk('IHDR', head), chunk('IDAT', rows), chunk('IEND', Buffer.alloc(0))]).toString('base64');
}

/** Half a second of a tone, as a WAV file. */
function tone(hertz, rate = 8000) {
  const samples = Buffer.from(Array.from({ length: rate / 2 }, (_, index) => 128 + Math.round(60 * Math.sin((2 * Math.PI * hertz * index) / rate))));
  const head = Buffer.alloc(44);
  head.write('RIFF', 0);
  head.writeUInt32LE(36 + samples.length, 4);
  head.write('WAVEfmt ', 8);
  head.writeUInt32LE(16, 16);
  // PCM, one channel, a byte for each sample.
  head.writeUInt16LE(1, 20);
  head.writeUInt16LE(1, 22);
  head.writeUInt32LE(rate, 24);
  head.writeUInt32LE(rate, 28);
  head.writeUInt16LE(1, 32);
  head.writeUInt16LE(8, 34);
  head.write('data', 36);
  head.writeUInt32LE(samples.length, 40);
  return Buffer.concat([head, samples]).toString('base64');
}

const text = (words) => ({ content: [{ type: 'text', text: words }] });

async function call(id, { name, arguments: args = {}, _meta = {} }) {
  const stop = new AbortController();
  running.set(id, stop);
  const pause = (ms) =>
    new Promise((resolve) => {
      setTimeout(resolve, ms);
      stop.signal.addEventListener('abort', resolve);
    });
  let result;
  switch (name) {
    case 'count_slowly':
      for (let step = 1; step <= args.to && !stop.signal.aborted; step += 1) {
        await pause(100);
        const { progressToken } = _meta;
        if (progressToken !== undefined) {
          send({ method: 'notifications/progress', params: { progressToken, progress: step, total: args.to, message: `counted to ${step}` } });
        }
      }
      result = text(`counted to ${args.to}`);
      break;
    case 'count_cancelled':
      result = text(String(cancelled));
      break;
    case 'draw_square':
      result = { content: [{ type: 'text', text: `A square in ${args.colour}.` }, { type: 'image', mimeType: 'image/png', data: square(args.colour) }] };
      break;
    case 'play_tone':
      result = { content: [{ type: 'audio', mimeType: 'audio/wav', data: tone(args.hertz) }] };
      break;
    case 'log_in':
      result = text(`${args.user} is logged in with ${args.password.length} characters`);
      break;
    case 'send_letter':
      await pause(60_000);
      result = text('sent');
      break;
    default:
      result = text(JSON.stringify(args));
  }
  running.delete(id);
  if (!stop.signal.aborted) send({ id, result });
}

createInterface({ input: process.stdin }).on('line', (line) => {
  const { id, method, params } = JSON.parse(line);
  switch (method) {
    case 'initialize':
      send({ id, result: { protocolVersion: params.protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'workshop', version: '1.0.0' } } });
      break;
    case 'tools/list':
      send({ id, result: { tools: TOOLS } });
      break;
    case 'tools/call':
      call(id, params);
      break;
    case 'notifications/cancelled':
      if (running.has(params.requestId)) {
        cancelled += 1;
        running.get(params.requestId).abort();
      }
      break;
    default:
      if (id !== undefined) send(method === 'ping' ? { id, result: {} } : { id, error: { code: -32601, message: `no method ${method}` } });
  }
});
