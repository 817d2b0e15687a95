"""The tables of `scripts/bench`: `report.py RESULTS TABLE…` prints them, `report.py RESULTS --page` prints docs/benchmarks.md.

RESULTS has a file NAME.tsv for each table (round, peer, column, value) and NAME.txt for what a benchmark of our own printed."""

import datetime
import os
import platform
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from statistics import median

RESULTS = Path(sys.argv[1])
ROOT = Path(__file__).parent.parent
LOAD = [("rate", "requests/s"), ("p50", "p50, ms"), ("p99", "p99, ms"), ("cpu", "processor time, µs a call")]
TIMES = [("best", "best, ns a call"), ("usual", "median, ns a call")]


@dataclass
class Table:
    """What is measured: its peers in order, its columns, what its chart shows, and what is unequal about it."""

    title: str
    about: str
    peers: list
    columns: list
    more_is_better: bool = False
    unequal: list = field(default_factory=list)


FIXED = "*hyper* answers a fixed body without reading the request: it is the limit of what a server on this HTTP stack can do, not a contender."
HAND = "*axum* is what one writes by hand for one function: no registry of tools, no schema, no limits, no metrics. opentool does all that in each call."
RPC = "*jsonrpsee* looks the method up and reads the parameters into a struct. It has no schema to check against."
STATELESS = "Every peer runs in the way that costs it least: no sessions, answers as JSON, one tool. opentool serves its demo tools and checks the arguments."
PROCESS = "The TypeScript SDK and FastMCP run on an interpreter in one process, on one core like everything else here. In production one would start several processes of them."
NEW_SERVER = "The TypeScript SDK makes a server for each request, since that is how its documentation runs it without sessions."


def http(count):
    return Table(
        f"Calls over HTTP, {count} connections",
        f"`add` of two integers through `POST /opentool/call`, by `wrk` with {count} connections.",
        ["hyper", "axum", "jsonrpsee", "opentool"],
        LOAD,
        more_is_better=True,
        unequal=[FIXED, HAND, RPC],
    )


def mcp(revision, peers, unequal):
    return Table(
        f"Calls over MCP, revision {revision}",
        "`tools/call` of `add` over streamable HTTP, by `wrk` with 32 connections.",
        peers,
        LOAD,
        more_is_better=True,
        unequal=[FIXED, STATELESS, *unequal],
    )


def counted():
    """The tables of HTTP, one for each number of connections that was tried."""
    counts = sorted(int(file.stem.removeprefix("http-")) for file in RESULTS.glob("http-*.tsv"))
    return {f"http-{count}": http(count) for count in counts}


TABLES = {
    **counted(),
    "mcp-2025-06-18": mcp("2025-06-18", ["hyper", "rmcp", "typescript", "fastmcp", "opentool"], [PROCESS, NEW_SERVER]),
    "mcp-2026-07-28": mcp(
        "2026-07-28",
        ["hyper", "rmcp", "fastmcp", "opentool"],
        [PROCESS, "The TypeScript SDK is not in this table: its released version does not have this revision."],
    ),
    "stdio": Table(
        "Calls over MCP on stdio",
        "`tools/call` of `add`, one call after the other, to a child process.",
        ["rmcp", "typescript", "fastmcp", "opentool"],
        TIMES,
        unequal=["This is mostly the cost of two processes that wake each other."],
    ),
    "calls": Table(
        "Calls in process",
        "`add` by its name, with the arguments as JSON text.",
        ["hand", "rig", "opentool"],
        TIMES,
        unequal=[
            "*hand* is a `match` and serde_json: it checks types and nothing else.",
            "rig reads the arguments into a struct and has no schema check, deadline, limit or panic guard; opentool has them in each call.",
        ],
    ),
    "off": Table(
        "Calls without a journal",
        "A checked call in process, of a context that says nothing of a journal, beside the same with everything taken out of the core that such a call "
        "does for one (`benches/journal/without.patch`). Instructions are counted by valgrind, whatever else the machine does.",
        ["without", "opentool"],
        [("instructions", "instructions a call"), *TIMES],
        unequal=["Two builds of one function differ by some percent of its time only because their code lies at other addresses: the instructions count."],
    ),
    "chat": Table(
        "A turn with a model",
        "A prompt, an answer that asks for `add`, the call, and the final answer: two HTTP requests to a scripted model on the other core.",
        ["rig", "opentool"],
        [("turn", "a turn, µs"), ("cpu", "processor time, µs a turn")],
        unequal=[
            "A real model takes seconds; this is only what the client adds. Both use reqwest and one connection.",
            "opentool checks arguments against the schema and keeps limits; rig runs the tool without these.",
        ],
    ),
    "dyn": Table(
        "Calls of a C function in process",
        "`int add(int, int)` from a shared library: JSON text in, JSON text out.",
        ["ctypes", "koffi", "opentool"],
        TIMES,
        unequal=[
            "opentool checks the arguments against the document. koffi and ctypes check what their JSON parser and the conversion to `int` check.",
            "This is the way without isolation. By default opentool runs a library in a worker process, which costs some microseconds more (below); "
            "the others have nothing like it.",
        ],
    ),
    "start": Table(
        "Start-up and idle memory",
        "From the start of the process until its port is open, and its memory half a second later. "
        "*release* is the program that `scripts/release` made, where it was run before.",
        ["axum", "jsonrpsee", "rmcp", "typescript", "fastmcp", "opentool", "release"],
        [("ready", "ready, ms"), ("idle", "resident, MiB"), ("own", "of it: own memory"), ("files", "of it: pages of files")],
        unequal=[
            "The peers have one function and nothing else. opentool has its demo tools, a journal, MCP, models and C libraries in the binary.",
            "*Pages of files* are parts of the program itself: the kernel shares them between processes, and takes them back when memory is short.",
        ],
    ),
    "size": Table(
        "Size of the program",
        "In MB (10⁶ bytes): what `cargo build --profile bench` makes, and under *release* what `scripts/release` made, where it was run before.",
        ["axum", "rmcp", "opentool", "release"],
        [("whole", "as built, MB"), ("stripped", "stripped, MB")],
        unequal=["`axum` also has hyper's and jsonrpsee's server in it. opentool has SQLite, TLS, libffi and a C parser."],
    ),
}

# What our own benchmarks print, as it is.
TEXTS = {
    "dyn": (
        "C libraries, in more detail",
        "By hand, with more arguments, and in a worker process.\n\nWhere the system chooses the processors, the two rows need not have the same ones, and the "
        "ratio says little: it tends to run the ping-pong on one, where a wake-up is cheap, and a call, whose threads spin for a moment, on two. The tables after "
        "it give both sides the same places.",
    ),
    "journal": ("The journal", "A call without a journal, recorded with a lazy sync (read-only and idempotent tools) and with a full one (all others)."),
    "soak": ("A long run", "A million calls over 64 connections, each answer checked; what is left after them."),
    "attack": ("Under attack", "Hostile clients in every way at once, while a good client calls."),
}


@dataclass
class Figure:
    """A figure that was set: a ratio between two peers, round by round, or a value of one."""

    text: str
    table: str
    column: str
    peer: str
    of: str = ""
    at_least: float = None
    at_most: float = None
    why_missed: str = ""


HYPER = (
    "the share depends on the machine: the less its kernel needs for a packet, the more of a request is the work of the server, and hyper with a fixed "
    "body has none. The table of calls over HTTP has axum with one function written by hand for comparison."
)
AXUM = (
    "the program beside it is one function, written for its two arguments. A call of opentool also has its `Host` and `Origin` checked, finds its tool by "
    "name, has its arguments checked against a schema, keeps the limits and is counted. By callgrind that comes to a few hundred of some 23,000 instructions."
)
RMCP = (
    "on the machines that this was measured on the medians were 2.2 to 2.8; two runs on one of them, an hour apart, differed by as much."
)
P99 = (
    "the slowest hundredth of the requests of two seconds are those during which another program had the processor; the ranges of both servers overlap."
)
JOURNAL = (
    "44 instructions of some 3,900, where 19 were counted before. The cause was not looked into; the times of the rounds do not tell the two apart."
)
IDLE = (
    "the server's own memory is the small part (*own memory* in the table of start-up). The rest are pages of the program file and of libc, which grow "
    "with the size of the program: the kernel maps what is in its cache around each page that is touched, 16 pages (64 KiB) a fault. Clean pages of "
    "files can be dropped when memory is short."
)
KOFFI = (
    "on the machine that this was measured on the best rounds gave 2.5 to 3.8, one run after the other: koffi's time, which has much of V8's JSON in it, "
    "differed more than opentool's."
)

FIGURES = [
    Figure("HTTP requests of bare hyper", "http-32", "rate", "opentool", "hyper", at_least=0.75, why_missed=HYPER),
    Figure("HTTP requests of bare axum", "http-32", "rate", "opentool", "axum", at_least=1, why_missed=AXUM),
    Figure("HTTP p99 of bare axum", "http-32", "p99", "opentool", "axum", at_most=1.2, why_missed=P99),
    Figure("HTTP requests of jsonrpsee", "http-32", "rate", "opentool", "jsonrpsee", at_least=1),
    Figure("MCP requests of bare hyper", "mcp-2025-06-18", "rate", "opentool", "hyper", at_least=0.75, why_missed=HYPER),
    Figure("MCP requests of rmcp", "mcp-2025-06-18", "rate", "opentool", "rmcp", at_least=2.5, why_missed=RMCP),
    Figure("MCP requests of rmcp, newer revision", "mcp-2026-07-28", "rate", "opentool", "rmcp", at_least=2.5, why_missed=RMCP),
    Figure("koffi's time of opentool's, C call in process", "dyn", "best", "koffi", "opentool", at_least=3, why_missed=KOFFI),
    Figure("checked call in process, ns", "calls", "best", "opentool", at_most=400),
    Figure("instructions of a call without a journal, of those with the journal taken out", "off", "instructions", "opentool", "without", at_most=1.01, why_missed=JOURNAL),
    Figure("start-up, ms", "start", "ready", "opentool", at_most=50),
    Figure("idle memory of the program of `scripts/release`, MiB", "start", "idle", "release", at_most=15, why_missed=IDLE),
    Figure("program of `scripts/release`, MB", "size", "whole", "release", at_most=30),
]


def read(name):
    """The values of a table: peer, column, round."""
    values = {}
    for line in (RESULTS / f"{name}.tsv").read_text().splitlines():
        number, peer, column, value = line.split("\t")
        values.setdefault(peer, {}).setdefault(column, {})[int(number)] = float(value)
    return values


def number(value):
    """Three digits that count, and no exponent."""
    if value >= 1000:
        return f"{value:,.0f}"
    digits = 0 if value >= 100 else 1 if value >= 10 else 2 if value >= 0.1 else 3
    return f"{value:.{digits}f}"


def spread(values):
    """Median, least and greatest."""
    low, middle, high = min(values), median(values), max(values)
    if low == high:
        return number(middle)
    return f"{number(middle)} ({number(low)} – {number(high)})"


def ratios(values, column, one, other):
    both = [values[peer][column] for peer in (one, other)]
    return [both[0][at] / both[1][at] for at in sorted(both[0].keys() & both[1].keys())]


def present(table, values):
    return [peer for peer in table.peers if peer in values]


def rows(table, values):
    """The cells of a table, with the ratio of the first column to opentool's."""
    first, title = table.columns[0]
    yield ["", *[name for _, name in table.columns], f"of opentool's {title.split(',')[0]}"]
    for peer in present(table, values):
        ratio = "1" if peer == "opentool" else spread(ratios(values, first, peer, "opentool"))
        yield [peer, *[spread(values[peer][column].values()) for column, _ in table.columns], ratio]


def chart(table, values):
    """A bar for each peer, of the medians of the first column."""
    column, title = table.columns[0]
    medians = {peer: median(values[peer][column].values()) for peer in present(table, values)}
    widest = max(len(peer) for peer in medians)
    better = "longer is better" if table.more_is_better else "shorter is better"
    lines = [f"{title} ({better})"]
    for peer, value in medians.items():
        filled = value / max(medians.values()) * 48
        bar = "█" * int(filled) + ("▌" if filled % 1 >= 0.5 or filled < 0.5 else "")
        lines.append(f"{peer:<{widest}}  {bar} {number(value)}")
    return "\n".join(lines)


def in_columns(cells):
    cells = [list(row) for row in cells]
    widths = [max(len(row[at]) for row in cells) for at in range(len(cells[0]))]
    return "\n".join("  ".join(cell.ljust(width) for cell, width in zip(row, widths)).rstrip() for row in cells)


def in_markdown(cells):
    head, *body = list(cells)
    lines = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    lines += ["| " + " | ".join(row) + " |" for row in body]
    return "\n".join(lines)


def figures():
    """The figures that follow from what was measured: text, wanted, measured, whether it is met, why not."""
    for figure in FIGURES:
        if not (RESULTS / f"{figure.table}.tsv").exists():
            continue
        values = read(figure.table)
        if figure.peer not in values or (figure.of and figure.of not in values):
            continue
        if figure.of:
            measured = ratios(values, figure.column, figure.peer, figure.of)
        else:
            measured = list(values[figure.peer][figure.column].values())
        middle = median(measured)
        if figure.at_least is not None:
            wanted, met = f"{figure.at_least:g} or more", middle >= figure.at_least
        else:
            wanted, met = f"{figure.at_most:g} or less", middle <= figure.at_most
        yield figure, wanted, spread(measured), met


def say(name):
    """Prints a table, or what a benchmark of our own printed."""
    if name in TABLES:
        table, values = TABLES[name], read(name)
        print(f"\n{table.title}: median (least – greatest)\n")
        print(in_columns(rows(table, values)))
        for figure, wanted, measured, met in figures():
            if figure.table == name:
                print(f"{figure.text}: {measured}, wanted {wanted}{'' if met else ': MISSED'}")
    if (RESULTS / f"{name}.txt").exists():
        print((RESULTS / f"{name}.txt").read_text(), end="")


def output(*command):
    try:
        return subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"


def locked(lock, name):
    """The newest version of a crate in a lock file."""
    found = re.findall(rf'name = "{name}"\nversion = "([^"]+)"', (ROOT / lock).read_text())
    return found[-1] if found else "unknown"


def machine():
    model = re.search(r"^model name\s*: (.*)$", Path("/proc/cpuinfo").read_text(), re.M)
    processor = model.group(1).strip() if model else platform.machine()
    return f"{processor}, {os.cpu_count()} cores, Linux {platform.release().split('-')[0]}"


def head():
    return output("git", "rev-parse", "--short", "HEAD")


def measured_at(name):
    """A sentence for a part that was measured at another commit than that of the page."""
    file = RESULTS / f"{name}.commit"
    commit = file.read_text().strip() if file.exists() else ""
    return f" Measured at commit `{commit}`." if commit and commit != head() else ""


def versions():
    node = (RESULTS.parent / "peers/node/packages").read_text().split()
    python = (RESULTS.parent / "peers/python/packages").read_text().strip()
    crates = [("http", "hyper"), ("http", "axum"), ("http", "jsonrpsee"), ("mcp", "rmcp"), ("chat", "rig")]
    names = [f"{name} {locked(f'benches/{place}/Cargo.lock', name)}" for place, name in crates]
    names += [f"`{package}`" for package in [*node, python]]
    names += [output("rustc", "--version").split(" (")[0], f"Node {output('node', '--version')}", output("python3", "--version")]
    return ", ".join(names)


def page():
    print("# Benchmarks\n")
    print("`scripts/bench` measured all of this and wrote this page; run it and you get your own. The peers come from their registries:")
    print(f"{versions()}.\n")
    print(f"Machine: {machine()}; {datetime.date.today():%d %B %Y}, commit `{head()}`, except where a part names another.\n")
    print("One server is alive at a time, on core 0; what calls it is on core 1; the peers take turns in an order of chance, round after round.")
    print("A server is under load for a second before it is measured; what its start costs has a table of its own.")
    print("Every cell is the median of the rounds, with the least and the greatest behind it. Compare the ratios, which are taken round by")
    print("round, and not the figures of two machines or two days.\n")
    print("## The figures that were set\n")
    listed = list(figures())
    print(in_markdown([["figure", "wanted", "measured", "met"], *[[f.text, w, m, "yes" if met else "**no**"] for f, w, m, met in listed]]))
    for figure, _, _, met in listed:
        if not met and figure.why_missed:
            print(f"\n**{figure.text}**: {figure.why_missed}")
    for name, table in TABLES.items():
        if not (RESULTS / f"{name}.tsv").exists():
            continue
        values = read(name)
        print(f"\n## {table.title}\n\n{table.about}{measured_at(name)}\n\n{in_markdown(rows(table, values))}\n\n```text\n{chart(table, values)}\n```\n")
        print("Not like for like:\n")
        for line in table.unequal:
            print(f"- {line}")
    for name, (title, about) in TEXTS.items():
        if (RESULTS / f"{name}.txt").exists():
            print(f"\n## {title}\n\n{about}{measured_at(name)}\n\n```text\n{(RESULTS / f'{name}.txt').read_text().rstrip()}\n```")


if sys.argv[2:] == ["--page"]:
    page()
else:
    for name in sys.argv[2:]:
        say(name)
