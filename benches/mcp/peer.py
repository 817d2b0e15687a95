# FastMCP: `python peer.py PORT`, or `stdio` for the port. Without sessions and with JSON answers, which costs least.
import sys

from fastmcp import FastMCP

server = FastMCP("bench")


@server.tool
def add(a: int, b: int) -> int:
    """Add two integers."""
    return a + b


if sys.argv[1] == "stdio":
    server.run(show_banner=False, log_level="error")
else:
    server.run(
        transport="http",
        host="127.0.0.1",
        port=int(sys.argv[1]),
        stateless_http=True,
        json_response=True,
        show_banner=False,
        log_level="error",
        uvicorn_config={"access_log": False},
    )
