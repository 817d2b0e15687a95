// The TypeScript SDK of MCP: `node peer.mjs NODE_MODULES PORT`, or `stdio` for the port. Without sessions and with JSON answers, which
// costs least. Since a server of the SDK has one transport, each request gets one of its own, as its examples do.
import { createServer } from 'node:http';
import { createRequire } from 'node:module';
import { pathToFileURL } from 'node:url';

const [modules, place] = process.argv.slice(2);
const require = createRequire(pathToFileURL(`${modules}/index.js`));
const load = (name) => import(pathToFileURL(require.resolve(name)));
const { McpServer } = await load('@modelcontextprotocol/sdk/server/mcp.js');
const { StreamableHTTPServerTransport } = await load('@modelcontextprotocol/sdk/server/streamableHttp.js');
const { StdioServerTransport } = await load('@modelcontextprotocol/sdk/server/stdio.js');
const { z } = await load('zod');

const shape = { a: z.number().int(), b: z.number().int() };
const adder = () => {
  const server = new McpServer({ name: 'bench', version: '1.0.0' });
  server.registerTool('add', { description: 'Add two integers.', inputSchema: shape }, ({ a, b }) => ({
    content: [{ type: 'text', text: String(a + b) }],
  }));
  return server;
};

if (place === 'stdio') {
  await adder().connect(new StdioServerTransport());
} else {
  const answer = async (request, response) => {
    const server = adder();
    const transport = new StreamableHTTPServerTransport({ sessionIdGenerator: undefined, enableJsonResponse: true });
    response.on('close', () => {
      transport.close();
      server.close();
    });
    await server.connect(transport);
    await transport.handleRequest(request, response);
  };
  createServer(answer).listen(Number(place), '127.0.0.1');
}
