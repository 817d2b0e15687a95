"""Calls the tools of MCP servers that others wrote, by `opentool mcp`, over stdio and HTTP: `scripts/mcp-servers` runs it."""

import base64
import contextlib
import gzip
import json
import os
import shlex
import socket
import subprocess
import sys
import tempfile
import time

PROGRAM, FOLDER = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2])
EVERYTHING = f"{FOLDER}/node/node_modules/@modelcontextprotocol/server-everything/dist/index.js"

PYTHON_SERVER = '''
import sys
from typing import Any
KIND, TRANSPORT, PORT = sys.argv[1], sys.argv[2], int(sys.argv[3])
if KIND == "fastmcp":
    from fastmcp import FastMCP
    server = FastMCP("Python")
elif KIND == "current":
    from mcp.server.mcpserver import MCPServer
    server = MCPServer("Python")
else:
    from mcp.server.fastmcp import FastMCP
    server = FastMCP("Python", port=PORT)

@server.tool()
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b

@server.tool()
def person(name: str) -> dict[str, Any]:
    """A person."""
    return {"name": name, "friends": [1, 2.5, None]}

@server.tool()
def fail() -> str:
    """Always fails."""
    raise ValueError("the oven is cold")

if TRANSPORT == "stdio":
    server.run()
elif KIND == "before":
    server.run(transport="streamable-http")
elif KIND == "fastmcp":
    server.run(transport="http", port=PORT, show_banner=False)
else:
    server.run(transport="streamable-http", port=PORT)
'''


class Client:
    """`opentool mcp`, spoken to message by message."""

    def __init__(self, arguments):
        command = [PROGRAM, "mcp", *arguments]
        self.process = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
        self.last = 0
        self.notifications = []

    def send(self, method, params, id=None):
        message = {"jsonrpc": "2.0", "method": method, "params": params}
        if id is not None:
            message["id"] = id
        self.process.stdin.write(json.dumps(message) + "\n")
        self.process.stdin.flush()

    def start(self, method, params):
        self.last += 1
        self.send(method, params, self.last)
        return self.last

    def ask(self, method, params):
        id = self.start(method, params)
        while True:
            line = self.process.stdout.readline()
            assert line, "opentool mcp has ended"
            message = json.loads(line)
            if message.get("id") == id:
                assert "result" in message, message
                return message["result"]
            self.notifications.append(message)

    def call(self, name, /, **arguments):
        return self.ask("tools/call", {"name": name, "arguments": arguments})

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        assert self.process.wait(timeout=30) == 0


def free_port():
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return listener.getsockname()[1]


@contextlib.contextmanager
def running(command, port, environment):
    """Starts an HTTP server and waits until it accepts connections."""
    process = subprocess.Popen(command, env={**os.environ, **environment}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    try:
        deadline = time.monotonic() + 60
        while True:
            with contextlib.suppress(OSError), socket.create_connection(("127.0.0.1", port), 1):
                break
            assert time.monotonic() < deadline and process.poll() is None, f"{command} does not start"
            time.sleep(0.05)
        yield
    finally:
        process.terminate()
        process.wait()


def text(result):
    assert not result.get("isError"), result
    return result["content"][0]["text"]


def kinds(result):
    return [item["type"] for item in result["content"]]


def check_everything(client):
    """Calls each tool that the server offers to every client."""
    called = set()

    def call(name, /, **arguments):
        called.add(name)
        return client.call(name, **arguments)

    assert text(call("echo", message="grüße")) == "Echo: grüße"
    assert "42" in text(call("get-sum", a=20, b=22))
    annotated = call("get-annotated-message", messageType="error", includeImage=True)
    assert kinds(annotated) == ["text", "image"], annotated
    assert annotated["content"][0]["annotations"] == {"priority": 1, "audience": ["user", "assistant"]}, annotated
    environment = json.loads(text(call("get-env")))
    assert "PATH" in environment, environment
    links = call("get-resource-links", count=3)
    assert kinds(links) == ["text"] + ["resource_link"] * 3, links
    assert all(link["uri"] and link["name"] for link in links["content"][1:]), links
    reference = call("get-resource-reference", resourceType="Blob", resourceId=2)
    resource = [item["resource"] for item in reference["content"] if item["type"] == "resource"]
    assert base64.b64decode(resource[0]["blob"]), reference
    structured = call("get-structured-content", location="Chicago")
    assert structured["structuredContent"] == json.loads(text(structured)), structured
    image = call("get-tiny-image")
    assert "image" in kinds(image), image
    picture = next(item for item in image["content"] if item["type"] == "image")
    assert base64.b64decode(picture["data"]).startswith(b"\x89PNG") and picture["mimeType"] == "image/png", picture
    data = "data:text/plain;base64," + base64.b64encode(b"hello " * 100).decode()
    packed = call("gzip-file-as-resource", name="h.gz", data=data, outputType="resource")
    blob = next(item["resource"]["blob"] for item in packed["content"] if item["type"] == "resource")
    assert gzip.decompress(base64.b64decode(blob)) == b"hello " * 100, packed
    assert "logging" in text(call("toggle-simulated-logging")).lower()
    assert text(call("toggle-subscriber-updates"))

    called.add("trigger-long-running-operation")
    client.notifications.clear()
    long = {"name": "trigger-long-running-operation", "arguments": {"duration": 1, "steps": 4}}
    assert "completed" in text(client.ask("tools/call", {**long, "_meta": {"progressToken": "p"}}))
    progress = [message["params"]["progress"] for message in client.notifications]
    assert progress == [1, 2, 3, 4], client.notifications

    # A call that is cancelled gets no answer, and the next one does not wait for it.
    client.notifications.clear()
    id = client.start("tools/call", {"name": long["name"], "arguments": {"duration": 20, "steps": 1}})
    client.send("notifications/cancelled", {"requestId": id})
    started = time.monotonic()
    assert text(call("echo", message="next")) == "Echo: next"
    assert time.monotonic() - started < 10 and not client.notifications, client.notifications

    # It runs as a task only, which is not there yet: the server's refusal reaches the model.
    refused = call("simulate-research-query", topic="bees")
    assert refused["isError"] and "task" in refused["content"][0]["text"], refused
    # It asks the user, whom this client cannot ask.
    asked = call("trigger-elicitation-request")
    assert asked["isError"] and "no way to answer" in asked["content"][0]["text"], asked
    listed = {tool["name"] for tool in client.ask("tools/list", {})["tools"]}
    assert listed == called, listed ^ called
    return len(called)


def check_python(client):
    tools = {tool["name"]: tool for tool in client.ask("tools/list", {})["tools"]}
    assert sorted(tools) == ["add", "fail", "person"], tools
    assert tools["add"]["description"] == "Add two integers.", tools
    assert tools["add"]["inputSchema"]["required"] == ["a", "b"], tools
    added = client.call("add", a=20, b=22)
    assert text(added) == "42" and added["structuredContent"] == {"result": 42}, added
    person = client.call("person", name="Ada")
    assert person["structuredContent"] == {"name": "Ada", "friends": [1, 2.5, None]}, person
    failed = client.call("fail")
    # The current SDK keeps the reason to itself.
    assert failed["isError"] and failed["content"][0]["text"].startswith("Error"), failed
    wrong = client.call("add", a=1)
    assert wrong["isError"] and 'missing required argument "b"' in wrong["content"][0]["text"], wrong
    return 3


def check(name, command, http_command, path, check, environment=lambda port: {}):
    with Client(["--mcp", shlex.join(command)]) as client:
        print(f"{name} over stdio: {check(client)} tools", flush=True)
    port = free_port()
    with running(http_command(port), port, environment(port)), Client([f"mcp+http://127.0.0.1:{port}{path}"]) as client:
        print(f"{name} over HTTP: {check(client)} tools", flush=True)


with tempfile.NamedTemporaryFile("w", suffix=".py") as server:
    server.write(PYTHON_SERVER)
    server.flush()
    http = lambda port: ["node", EVERYTHING, "streamableHttp"]
    check("server-everything", ["node", EVERYTHING, "stdio"], http, "/mcp", check_everything, lambda port: {"PORT": str(port)})
    for folder, kind in [("fastmcp--4.1.2", "fastmcp"), ("mcp--2.3.0", "current"), ("mcp--1.30.0", "before")]:
        python = f"{FOLDER}/{folder}/bin/python"
        http = lambda port: [python, server.name, kind, "http", str(port)]
        check(folder.replace("--", " "), [python, server.name, kind, "stdio", "0"], http, "/mcp", check_python)
