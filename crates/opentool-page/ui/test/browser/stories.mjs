// An OpenTool server whose one function answers piece by piece. The test says when it goes on.

import { createServer } from 'node:http';

const DOCUMENT = {
  opentool: '1.1.0',
  info: { title: 'Stories', version: '1.0.0' },
  functions: [
    {
      name: 'tell_story',
      description: 'Tell a story, sentence by sentence.',
      parameters: [],
      return: { name: 'story', description: 'All of it.', schema: { type: 'string' } },
    },
  ],
};

const PIECES = ['There was a king.', 'He had a daughter.'];

/** Starts it. A story waits before its end until `finish` was called. */
export async function startStories() {
  let finish;
  const server = createServer(async (request, response) => {
    let body = '';
    for await (const part of request) body += part;
    const answer = (value) => response.writeHead(200, { 'Content-Type': 'application/json' }).end(JSON.stringify(value));
    switch (request.url) {
      case '/opentool/version':
        answer({ version: '1.0.0' });
        break;
      case '/opentool/load':
        answer(DOCUMENT);
        break;
      case '/opentool/streamCall': {
        const { id } = JSON.parse(body);
        response.writeHead(200, { 'Content-Type': 'text/event-stream;result=named' });
        const event = (name, text) => response.write(`event:${name}\ndata:${JSON.stringify({ jsonrpc: '2.0', result: { story: text }, error: null, id })}\n\n`);
        for (const piece of PIECES) event('data', piece);
        await new Promise((resolve) => {
          finish = resolve;
        });
        event('result', PIECES.join(' '));
        response.end('event:done\ndata:{"done":"tell_story"}\n\n');
        break;
      }
      default:
        response.writeHead(404).end();
    }
  });
  await new Promise((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${server.address().port}`,
    finish: () => finish(),
    stop: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}
