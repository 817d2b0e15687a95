// The real `opentool serve`, with the demo tools, the MCP server of these tests, a journal and the scripted model.

import { execFile, spawn } from 'node:child_process';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';

const here = dirname(fileURLToPath(import.meta.url));
const binary = process.env.OPENTOOL_BINARY;
if (!binary) throw new Error('OPENTOOL_BINARY is not set: run scripts/browser');

const quoted = (word) => `'${word.replace(/'/g, `'\\''`)}'`;

/** Waits until `find` has found something. */
async function waitFor(find, what, output, seconds = 60) {
  const end = Date.now() + seconds * 1000;
  for (;;) {
    const found = await find();
    if (found) return found;
    if (Date.now() > end) throw new Error(`waited ${seconds} seconds for ${what}; the server printed:\n${output()}`);
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
}

export class TestServer {
  /** Starts a server. With `terminal` it has one, and prints the links with tokens to it. */
  static async start({ terminal = true, args = [], env = {} } = {}) {
    const folder = mkdtempSync(join(tmpdir(), 'opentool-browser-'));
    const words = [binary, 'serve', '--port', '0', ...args];
    const options = { cwd: folder, env: { ...process.env, OPENTOOL_API_KEY: '', OPENTOOL_MODEL: '', NO_COLOR: '1', ...env }, stdio: ['ignore', 'pipe', 'pipe'] };
    for (const [name, value] of Object.entries(options.env)) if (value === '') delete options.env[name];
    const child = terminal ? spawn('script', ['-qefc', `exec ${words.map(quoted).join(' ')}`, '/dev/null'], options) : spawn(words[0], words.slice(1), options);
    const server = new TestServer(child, folder);
    await waitFor(() => server.origin, 'an address', () => server.output);
    return server;
  }

  constructor(child, folder) {
    this.child = child;
    this.folder = folder;
    this.output = '';
    this.origin = null;
    const take = (part) => {
      this.output += part;
      this.origin ??= /listening on (http:\/\/127\.0\.0\.1:\d+)(?=[/\s])/.exec(this.output)?.[1] ?? null;
    };
    child.stdout.on('data', take);
    child.stderr.on('data', take);
    child.on('error', (error) => take(String(error)));
  }

  get page() {
    return `${this.origin}/ui/`;
  }

  /** A link that signs in once: the newest that was printed and not yet used. */
  async link(to = '/tools') {
    const tokens = () => [...this.output.matchAll(/#token=([A-Za-z0-9_-]+)/g)].map((match) => match[1]);
    this.used ??= 0;
    await waitFor(() => tokens().length > this.used, 'a link with a token', () => this.output);
    this.used = tokens().length;
    return `${this.page}#token=${tokens()[this.used - 1]}&to=${encodeURIComponent(to)}`;
  }

  async stop(signal = 'SIGTERM') {
    const ended = new Promise((resolve) => {
      if (this.child.exitCode !== null || this.child.signalCode !== null) resolve();
      else this.child.on('exit', resolve);
    });
    this.child.kill(signal);
    const timer = setTimeout(() => this.child.kill('SIGKILL'), 5000);
    await ended;
    clearTimeout(timer);
    rmSync(this.folder, { recursive: true, force: true });
  }
}

/** The words that add the MCP server of these tests. */
export const WORKSHOP = ['demo', '--mcp', `node ${quoted(join(here, 'tools.mjs'))}`, '--read-only', 'count_slowly', '--read-only', 'count_cancelled', '--read-only', 'draw_square', '--read-only', 'play_tone', '--read-only', 'fill_in'];

/** Makes a journal in which a call with an effect began and its server was killed. */
export async function interruptedJournal(folder) {
  const journal = join(folder, 'calls.sqlite');
  const server = await TestServer.start({ terminal: false, args: [...WORKSHOP, '--journal', journal] });
  const body = JSON.stringify({ jsonrpc: '2.0', id: '1', method: 'send_letter', params: { to: 'Ann' } });
  const headers = { 'Content-Type': 'application/json', 'Idempotency-Key': 'letter-1' };
  const call = fetch(`${server.origin}/opentool/call`, { method: 'POST', body, headers }).catch(() => 'cut off');
  const runs = async () => (await promisify(execFile)(binary, ['runs', '--journal', journal, 'list'])).stdout;
  await waitFor(async () => (await runs()).includes('send_letter'), 'the call in the journal', () => server.output);
  await server.stop('SIGKILL');
  await call;
  return journal;
}

/** Runs a command of the program, with the scripted model, in a folder of its own; resolves to its exit code and what it printed. */
export function runCommand(words, model) {
  const folder = mkdtempSync(join(tmpdir(), 'opentool-browser-'));
  const env = { ...process.env, OPENAI_API_KEY: 'not-a-real-key', OPENTOOL_MODEL: 'openai:scripted', OPENAI_BASE_URL: model.url, XDG_DATA_HOME: folder, XDG_STATE_HOME: folder, NO_COLOR: '1' };
  delete env.OPENTOOL_API_KEY;
  return new Promise((resolve) => {
    const child = execFile(binary, words, { cwd: folder, env }, (_, stdout, stderr) => {
      rmSync(folder, { recursive: true, force: true });
      resolve({ code: child.exitCode, stdout, stderr });
    });
    child.stdin.end();
  });
}

/** Leaves a chat in the journal that waits for approval to delete a note, and resolves to the id of its run. */
export async function suspendedChat(journal, model) {
  const chat = await runCommand(['chat', '--journal', journal, 'Please delete note 1.'], model);
  // That code says that calls wait.
  if (chat.code !== 7) throw new Error(`the chat ended with ${chat.code}: ${chat.stdout}${chat.stderr}`);
  const { stdout } = await runCommand(['runs', '--journal', journal, 'list', '--limit', '1', '--json'], model);
  return JSON.parse(stdout).id;
}
