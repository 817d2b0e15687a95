"""Serves the wire fixtures on loopback: the model of a request names the fixture. Prints its address."""

import json
import pathlib
import re
import sys
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

FIXTURES = pathlib.Path(sys.argv[1])

# The path of a request, and the folder of its fixtures.
ROUTES = [
    (re.compile(r"^/openai/v1/chat/completions$"), "openai-chat"),
    (re.compile(r"^/openai/v1/responses$"), "openai-responses"),
    (re.compile(r"^/anthropic/v1/messages$"), "anthropic"),
    (re.compile(r"^/gemini/v1(?:beta)?/models/(?P<model>[^:]+):(?P<method>\w+)$"), "gemini"),
]
MODELS = [
    (re.compile(r"^/openai/v1/models$"), "openai-chat"),
    (re.compile(r"^/anthropic/v1/models$"), "anthropic"),
    (re.compile(r"^/gemini/v1(?:beta)?/models$"), "gemini"),
]


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_GET(self):
        path = self.path.split("?")[0]
        for route, folder in MODELS:
            if route.match(path):
                return self.reply("application/json", FIXTURES / folder / "models.json")
        self.missing()

    def do_POST(self):
        body = self.rfile.read(int(self.headers.get("content-length", 0)))
        request = json.loads(body or b"{}")
        path = self.path.split("?")[0]
        for route, folder in ROUTES:
            matched = route.match(path)
            if not matched:
                continue
            found = matched.groupdict()
            name = found.get("model", request.get("model"))
            if found.get("method") == "streamGenerateContent" or request.get("stream"):
                return self.reply("text/event-stream", FIXTURES / folder / f"{name}.sse")
            return self.reply("application/json", FIXTURES / folder / f"{name}.json")
        self.missing()

    def reply(self, media_type, path):
        if not path.is_file():
            return self.missing()
        content = path.read_bytes()
        self.send_response(200)
        self.send_header("content-type", media_type)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def missing(self):
        content = json.dumps({"error": {"message": f"there is no fixture for {self.path}"}}).encode()
        self.send_response(404)
        self.send_header("content-type", "application/json")
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_):
        pass


server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
print(f"http://127.0.0.1:{server.server_address[1]}", flush=True)
server.serve_forever()
