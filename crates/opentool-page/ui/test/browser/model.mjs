// A model that follows a script, behind the wire format of OpenAI's chat completions, streamed.

import { createServer } from 'node:http';

const HOSTILE = [
  'Done. **Both** are there:\n\n',
  '1. the list\n2. the note\n\n',
  '<img src="https://evil.example/a.png" onerror="document.title = \'broken\'"> ',
  '![picture](https://evil.example/b.png) [link](javascript:alert(1)) ',
  'and [a page](https://example.org/).\n',
];

const call = (id, name, args) => ({ index: 0, id, type: 'function', function: { name, arguments: JSON.stringify(args) } });

/** What the model does next, from what was said. */
function script(messages) {
  const last = messages[messages.length - 1];
  const asked = JSON.stringify([...messages].reverse().find((message) => message.role === 'user')?.content ?? '');
  if (last.role === 'tool') {
    if (asked.includes('delete')) return { text: last.content.includes('did not approve') ? ['Then I leave it.'] : HOSTILE };
    if (asked.includes('question')) return { text: [`You said ${last.content}.`] };
    const titles = JSON.parse(last.content).map((note) => `**${note.title}**`);
    return { text: ['You have ', `${titles.length} `, `in your notes: ${titles.join(', ')}.`] };
  }
  if (asked.includes('notes')) return { text: ['Let me look. '], calls: [call('call_1', 'list_notes', {})] };
  if (asked.includes('delete')) return { text: ['I will delete it. '], calls: [call('call_2', 'delete_note', { id: Number(/note (\d+)/.exec(asked)?.[1] ?? 1) })] };
  if (asked.includes('question')) return { text: [], calls: [call('call_3', 'ask_user', { question: 'Which colour?' })] };
  if (asked.includes('forever')) return { text: Array.from({ length: 600 }, (_, index) => `word${index} `), pause: 100 };
  return { text: ['Hello. ', 'What shall I do?'] };
}

/** Starts it; `requests` has the bodies of what it was asked. */
export async function startModel() {
  const requests = [];
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    if (!request.url.endsWith('/chat/completions')) {
      response.writeHead(404).end();
      return;
    }
    const asked = JSON.parse(body);
    requests.push(asked);
    if (JSON.stringify(asked.messages.at(-1)).includes('refuse')) {
      response.writeHead(400, { 'Content-Type': 'application/json' }).end('{"error":{"message":"not like this"}}');
      return;
    }
    const { text, calls = [], pause = 15 } = script(asked.messages);
    response.writeHead(200, { 'Content-Type': 'text/event-stream' });
    const chunk = (choices, more = {}) => response.write(`data: ${JSON.stringify({ id: 'chat-1', object: 'chat.completion.chunk', created: 1, model: 'scripted', choices, ...more })}\n\n`);
    const delta = (content, finish_reason = null) => chunk([{ index: 0, delta: content, finish_reason }]);
    delta({ role: 'assistant', content: '' });
    for (const part of text) {
      if (response.destroyed) return;
      delta({ content: part });
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
    if (calls.length > 0) delta({ tool_calls: calls });
    delta({}, calls.length > 0 ? 'tool_calls' : 'stop');
    chunk([], { usage: { prompt_tokens: 120, completion_tokens: 34, total_tokens: 154 } });
    response.end('data: [DONE]\n\n');
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}/v1`,
    requests,
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
