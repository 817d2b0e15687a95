"""Lists and calls tools with an MCP client that others wrote, over stdio and HTTP: `scripts/mcp-clients` runs it.

Arguments: opentool, a Python that has FastMCP (for the server behind opentool) and, for the Inspector, Node and the Inspector's start file.
"""

import asyncio
import atexit
import contextlib
import http.server
import json
import os
import shlex
import subprocess
import sys
import tempfile
import threading
from importlib.metadata import PackageNotFoundError, version

PROGRAM = os.path.abspath(sys.argv[1])
SERVER_PYTHON = os.path.abspath(sys.argv[2])
HERE = os.path.dirname(os.path.abspath(__file__))
LIBM = os.path.join(HERE, "..", "examples", "libm.opendyn.json")
FIXTURE = shlex.join([SERVER_PYTHON, os.path.join(HERE, "mcp-clients-server.py")])
LARGE = 10_000_000
TOOLS = 1000
STEPS = 5


class Numbers(http.server.BaseHTTPRequestHandler):
    """An OpenTool server of many tools, each of which returns its number."""

    protocol_version = "HTTP/1.1"

    def do_POST(self):
        call = json.loads(self.rfile.read(int(self.headers["content-length"])))
        result = {"number": int(call["method"].removeprefix("tool_"))}
        body = json.dumps({"jsonrpc": "2.0", "id": call["id"], "result": result}).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_):
        pass


def many_tools():
    """Starts that server and returns the path of its document."""
    numbers = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Numbers)
    threading.Thread(target=numbers.serve_forever, daemon=True).start()
    names = [f"tool_{number:04}" for number in range(TOOLS)]
    document = {
        "opentool": "1.1.0",
        "info": {"title": "Numbers", "version": "1.0.0"},
        "server": {"url": f"http://127.0.0.1:{numbers.server_address[1]}/opentool"},
        "functions": [{"name": name, "description": "Return a number.", "parameters": []} for name in names],
    }
    file = tempfile.NamedTemporaryFile("w", suffix=".json", delete=False)
    atexit.register(os.unlink, file.name)
    with file:
        json.dump(document, file)
    return file.name


OPTIONS = ["demo", LIBM, many_tools(), "--library", f"{LIBM}=libm.so.6", "--mcp", FIXTURE, "--max-result", "16M"]


@contextlib.contextmanager
def server():
    """Starts `opentool serve` and returns the URL of its MCP endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "serve", *OPTIONS, "--port", "0"]
        process = subprocess.Popen(command, cwd=folder, stdout=subprocess.PIPE, text=True)
        try:
            for line in process.stdout:
                if line.startswith("MCP clients:"):
                    yield line.split()[-1]
                    return
            raise SystemExit("the server does not say where MCP clients find it")
        finally:
            process.terminate()
            process.wait()


class Caller:
    """What the clients have in common: `names()`, `call(tool, arguments, progress)` to (text, structured, is_error), `cancelled(task)`."""

    async def cancelled(self, task):
        """Cancels a call; most clients tell the server."""
        task.cancel()


async def check(caller, kind):
    names = await caller.names()
    for expected in ["add", "cos", "steps", "tool_0000", "tool_0999"]:
        assert expected in names, (expected, len(names))
    assert len(names) > TOOLS and len(names) == len(set(names)), len(names)

    assert (await caller.call("add", {"a": 1, "b": 2}))[0] == "3"
    _, structured, _ = await caller.call("cos", {"x": 0})
    assert structured == {"cosine": 1.0}, structured
    text, _, is_error = await caller.call("add", {"a": 1})
    assert is_error and 'missing required argument "b"' in text, text
    _, structured, _ = await caller.call("tool_0777", {})
    assert structured == {"number": 777}, structured

    text, _, is_error = await caller.call("large", {"bytes": LARGE})
    assert not is_error and len(text) == LARGE, len(text)

    reported = []
    if caller.has_progress:
        async def report(progress, total, message):
            reported.append((progress, total, message))

        text, _, _ = await caller.call("steps", {"count": STEPS}, report)
        assert text == "done", text
        # A notification may come after the answer that it was sent before.
        for _ in range(100):
            if len(reported) == STEPS:
                break
            await asyncio.sleep(0.05)
        assert reported == [(step, STEPS, f"step {step}") for step in range(1, STEPS + 1)], reported

    if caller.has_cancellation:
        with tempfile.TemporaryDirectory() as folder:
            task = asyncio.ensure_future(caller.call("wait", {"folder": folder}))
            await until(os.path.join(folder, "began"))
            await caller.cancelled(task)
            await until(os.path.join(folder, "cancelled"))
            with contextlib.suppress(BaseException):
                task.cancel()
                await task
    print(f"ok: {kind}", flush=True)


async def until(path):
    for _ in range(600):
        if os.path.exists(path):
            return
        await asyncio.sleep(0.05)
    raise AssertionError(f"there is no {path}")


class OldSession(Caller):
    """The official Python client before 2.0."""

    has_progress = has_cancellation = True

    def __init__(self, session):
        self.session = session

    async def names(self):
        names, cursor = [], None
        while True:
            page = await self.session.list_tools(cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.nextCursor
            if cursor is None:
                return names

    async def call(self, tool, arguments, progress=None):
        # It counts its requests; the number of the call is needed to cancel it.
        self.last = self.session._request_id
        result = await self.session.call_tool(tool, arguments, progress_callback=progress)
        return result.content[0].text, result.structuredContent, result.isError

    async def cancelled(self, task):
        """This client tells the server nothing by itself."""
        from mcp.types import CancelledNotification, CancelledNotificationParams, ClientNotification

        params = CancelledNotificationParams(requestId=self.last, reason="the user changed their mind")
        notification = CancelledNotification(method="notifications/cancelled", params=params)
        await self.session.send_notification(ClientNotification(notification))


class CurrentClient(Caller):
    """The official Python client from 2.0 on."""

    has_progress = has_cancellation = True

    def __init__(self, client):
        self.client = client

    async def names(self):
        names, cursor = [], None
        while True:
            page = await self.client.list_tools(cursor=cursor)
            names += [tool.name for tool in page.tools]
            cursor = page.next_cursor
            if cursor is None:
                return names

    async def call(self, tool, arguments, progress=None):
        result = await self.client.call_tool(tool, arguments, progress_callback=progress)
        return result.content[0].text, result.structured_content, result.is_error


class FastMcpClient(Caller):
    has_progress = has_cancellation = True

    def __init__(self, client):
        self.client = client

    async def names(self):
        return [tool.name for tool in await self.client.list_tools()]

    async def call(self, tool, arguments, progress=None):
        result = await self.client.call_tool(tool, arguments, progress_handler=progress, raise_on_error=False)
        return result.content[0].text, result.structured_content, result.is_error


class Inspector(Caller):
    """The Inspector's command line: a process for each request, so that there is nothing to cancel and no progress to see."""

    has_progress = has_cancellation = False

    def __init__(self, home, server, era):
        self.home, self.era = home, era
        with open(os.path.join(home, "servers.json"), "w") as file:
            json.dump({"mcpServers": {"opentool": server}}, file)

    async def ask(self, *options):
        node, start = sys.argv[3:5]
        config = ["--config", os.path.join(self.home, "servers.json"), "--server", "opentool"]
        limit = ["--connect-timeout", "120000"]
        form = ["--protocol-era", self.era, "--format", "json", "--quiet"]
        command = [node, start, "--cli", *config, *limit, *form, *options]
        environment = dict(os.environ, PATH=f"{os.path.dirname(node)}:{os.environ['PATH']}", HOME=self.home)
        process = await asyncio.create_subprocess_exec(
            *command, stdout=asyncio.subprocess.PIPE, stderr=asyncio.subprocess.PIPE, env=environment
        )
        output, errors = await process.communicate()
        assert output, (process.returncode, errors[-2000:])
        answer = json.loads(output)
        return answer.get("result", answer)

    async def names(self):
        return [tool["name"] for tool in (await self.ask("--method", "tools/list"))["tools"]]

    async def call(self, tool, arguments, progress=None):
        given = ["--tool-args-json", json.dumps(arguments)]
        result = await self.ask("--method", "tools/call", "--tool-name", tool, *given)
        return result["content"][0]["text"], result.get("structuredContent"), result.get("isError", False)


async def check_old():
    import mcp
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    @contextlib.asynccontextmanager
    async def session(streams):
        async with streams as (read, write, *_), mcp.ClientSession(read, write) as session:
            await session.initialize()
            yield OldSession(session)

    stdio = mcp.StdioServerParameters(command=PROGRAM, args=["mcp", *OPTIONS])
    async with session(stdio_client(stdio)) as caller:
        await check(caller, "stdio")
    with server() as url:
        async with session(streamablehttp_client(url)) as caller:
            await check(caller, "HTTP")


async def answer(context, params):
    """The user, who chooses the second answer."""
    from mcp.types import ElicitResult

    choices = params.requested_schema["properties"]["answer"]["enum"]
    return ElicitResult(action="accept", content={"answer": choices[1]})


async def check_current():
    import mcp

    stdio = mcp.StdioServerParameters(command=PROGRAM, args=["mcp", *OPTIONS])
    with server() as url:
        for mode in ["auto", "legacy"]:
            for target in [stdio, url]:
                async with mcp.Client(target, mode=mode, elicitation_callback=answer) as client:
                    caller = CurrentClient(client)
                    text, _, _ = await caller.call("ask_user", {"question": "Which?", "choices": ["a", "b"]})
                    assert text == "b", text
                    await check(caller, f"{'HTTP' if target is url else 'stdio'}, {client.protocol_version}")


async def check_fastmcp():
    from fastmcp import Client
    from fastmcp.client.transports import StdioTransport

    with server() as url:
        for mode in ["auto", "legacy"]:
            for kind, target in [("stdio", StdioTransport(PROGRAM, ["mcp", *OPTIONS])), ("HTTP", url)]:
                async with Client(target, mode=mode) as client:
                    await check(FastMcpClient(client), f"{kind}, {client.protocol_version}")


async def check_inspector():
    stdio = {"command": PROGRAM, "args": ["mcp", *OPTIONS]}
    with tempfile.TemporaryDirectory() as home, server() as url:
        for era in ["legacy", "modern"]:
            await check(Inspector(home, stdio, era), f"stdio, {era}")
            await check(Inspector(home, {"type": "streamable-http", "url": url}, era), f"HTTP, {era}")


def checks():
    if len(sys.argv) > 3:
        return check_inspector()
    with contextlib.suppress(PackageNotFoundError):
        version("fastmcp")
        return check_fastmcp()
    return check_current() if int(version("mcp").split(".")[0]) >= 2 else check_old()


asyncio.run(checks())
