"""Lists and calls tools with an official Python client of MCP, over stdio and HTTP: `scripts/mcp-clients` runs it."""

import asyncio
import contextlib
import os
import subprocess
import sys
import tempfile
from importlib.metadata import version

import mcp

PROGRAM = os.path.abspath(sys.argv[1])
LIBM = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "examples", "libm.opendyn.json")
SOURCES = ["demo", LIBM, "--library", "libm.so.6"]
IS_CURRENT = int(version("mcp").split(".")[0]) >= 2


@contextlib.asynccontextmanager
async def old_session(streams):
    async with streams as (read, write, *_), mcp.ClientSession(read, write) as session:
        await session.initialize()
        yield session


@contextlib.contextmanager
def server():
    """Starts `opentool serve` and returns the URL of its MCP endpoint."""
    with tempfile.TemporaryDirectory() as folder:
        command = [PROGRAM, "serve", *SOURCES, "--port", "0"]
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


def text_of(result):
    return result.content[0].text


async def check(session):
    names = [tool.name for tool in (await session.list_tools()).tools]
    assert "add" in names and "cos" in names, names
    result = await session.call_tool("add", {"a": 1, "b": 2})
    assert text_of(result) == "3", result
    result = await session.call_tool("cos", {"x": 0})
    structured = result.structured_content if IS_CURRENT else result.structuredContent
    assert structured == {"cosine": 1.0}, result
    result = await session.call_tool("add", {"a": 1})
    is_error = result.is_error if IS_CURRENT else result.isError
    assert is_error and 'missing required argument "b"' in text_of(result), result


async def check_current():
    stdio = mcp.StdioServerParameters(command=PROGRAM, args=["mcp", *SOURCES])
    with server() as url:
        for mode in ["auto", "legacy"]:
            for target in [stdio, url]:
                async with mcp.Client(target, mode=mode) as client:
                    await check(client)
                    kind = "HTTP" if target is url else "stdio"
                    print(f"ok: {kind}, {client.protocol_version}")


async def check_old():
    from mcp.client.stdio import stdio_client
    from mcp.client.streamable_http import streamablehttp_client

    stdio = mcp.StdioServerParameters(command=PROGRAM, args=["mcp", *SOURCES])
    async with old_session(stdio_client(stdio)) as session:
        await check(session)
        print("ok: stdio")
    with server() as url:
        async with old_session(streamablehttp_client(url)) as session:
            await check(session)
            print("ok: HTTP")


asyncio.run(check_current() if IS_CURRENT else check_old())
