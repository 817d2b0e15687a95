"""A FastMCP server that `scripts/mcp-clients` puts behind opentool: progress, a call that can be cancelled, a large result."""

import asyncio
from pathlib import Path

from fastmcp import Context, FastMCP

server = FastMCP("fixture")


@server.tool
async def steps(count: int, context: Context) -> str:
    """Report progress, step by step."""
    for step in range(1, count + 1):
        await context.report_progress(step, count, f"step {step}")
    return "done"


@server.tool
async def wait(folder: str) -> str:
    """Wait until the call is cancelled; leave a file when it begins and one when it is."""
    Path(folder, "began").touch()
    try:
        await asyncio.sleep(300)
    except asyncio.CancelledError:
        Path(folder, "cancelled").touch()
        raise
    return "waited"


# Without an output schema the text is in the result once: the Inspector takes lines of up to 10 MiB.
@server.tool(output_schema=None)
def large(bytes: int) -> str:
    """Return a long text."""
    return "x" * bytes


server.run(show_banner=False)
