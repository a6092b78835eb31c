"""Drive public MCP servers through a proxy with the official SDK and record what gets through.

    python drive.py --proxy "guard mcp --" --data-env GUARD_HOME --out result.jsonl

The proxy is a prefix: the command line of the server follows it. Without a prefix the servers are
driven bare, and every call must succeed. First come the everyday calls of calls.json, one connection
per server, which nobody wants to see stopped. What their field "plant" names (honest texts, in the
form of the poisoned cases) is put on the desk of the server once, before its first call. Then come
the cases of poisoned.json, each on a fresh desk and in a fresh connection: a planted text is read,
and the calls that it orders are made.

The exit status is 0 when everyday calls (behind a proxy, 95 % of them) and all reads passed and,
behind a proxy, no harmful call did.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import shutil
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, TextIO

import anyio
from mcp import ClientSession, MCPError, StdioServerParameters
from mcp.client.stdio import stdio_client
from mcp.types import PaginatedRequestParams

from desk import Desk

HERE = Path(__file__).resolve().parent
SERVERS = ("filesystem", "git", "fetch", "memory", "everything")
LISTS = ("everyday", "imperatives")  # the second one is full of texts in the imperative, honest ones as well
LEAST = 0.95  # share of everyday calls that must pass behind a proxy
STOPPED_PREFIX = "Blocked by guard"
CONNECTION_CLOSED = -32000
GONE = (anyio.ClosedResourceError, anyio.BrokenResourceError, anyio.EndOfStream, OSError)

Json = Any


@dataclass
class Answer:
    """What came back for one call."""

    outcome: str  # passed, stopped, error, rpc-error, bad-answer, timeout or dead
    text: str
    types: list[str] = field(default_factory=list)

    @property
    def passed(self) -> bool:
        return self.outcome == "passed"


@dataclass
class Record:
    """One call and its outcome, as written to the JSON lines."""

    part: str  # calls or poisoned
    id: str
    role: str  # call, read or ordered
    server: str
    tool: str
    listed: bool
    outcome: str
    passed: bool
    expected: bool | None  # whether the answer holds the text it should hold
    harmful: bool
    changed: bool  # whether files, memory or the record of web requests changed
    ms: int
    types: list[str]
    chars: int
    text: str


class Client:
    """One connection to one server, with a time limit on everything."""

    def __init__(self, session: ClientSession | None, limit: float, gone: str = "") -> None:
        self.session = session
        self.limit = limit
        self.tools: set[str] = set()
        self.gone = gone

    async def start(self) -> None:
        """Shake hands and list the tools, as a client does before its first call."""
        assert self.session
        with anyio.fail_after(self.limit):
            await self.session.initialize()
        cursor: str | None = None
        while True:
            params = PaginatedRequestParams(cursor=cursor) if cursor else None
            with anyio.fail_after(self.limit):
                page = await self.session.list_tools(params=params)
            self.tools |= {tool.name for tool in page.tools}
            cursor = page.next_cursor
            if not cursor:
                return

    async def call(self, tool: str, arguments: Json) -> Answer:
        """Call a tool and sort the answer; never raises for anything the other side does."""
        if self.gone or not self.session:
            return Answer("dead", self.gone)
        try:
            with anyio.fail_after(self.limit):
                result = await self.session.call_tool(tool, arguments, progress_callback=_ignore_progress)
        except TimeoutError:
            return Answer("timeout", f"no answer within {self.limit:g} s")
        except GONE as error:
            self.gone = f"connection lost: {error!r}"
            return Answer("dead", self.gone)
        except MCPError as error:
            if error.code == CONNECTION_CLOSED and error.message == "Connection closed":
                self.gone = f"connection lost: {error.message}"
                return Answer("dead", self.gone)
            return Answer("stopped" if _is_stop(error.message) else "rpc-error", error.message)
        except (RuntimeError, ValueError) as error:
            # The SDK refuses an answer that does not match the output schema of the tool.
            return Answer("bad-answer", str(error))
        text = _text_of(result.content)
        types = [str(block.type) for block in result.content]
        if _is_stop(text):
            return Answer("stopped", text, types)
        return Answer("error" if result.is_error else "passed", text, types)


async def _ignore_progress(progress: float, total: float | None, message: str | None) -> None:
    pass


def _is_stop(text: str) -> bool:
    return text.lstrip().startswith(STOPPED_PREFIX)


def _text_of(content: list[Json]) -> str:
    """The readable part of an answer: texts, embedded texts, and the addresses of resources."""
    parts: list[str] = []
    for block in content:
        if block.type == "text":
            parts.append(block.text)
        elif block.type == "resource":
            parts.append(getattr(block.resource, "text", "") or str(block.resource.uri))
        elif block.type == "resource_link":
            parts.append(f"{block.name} {block.uri}")
    return "\n".join(parts)


class Drive:
    """All that stays the same during a run, and the records it has made."""

    def __init__(self, options: argparse.Namespace, log: TextIO) -> None:
        self.proxy = shlex.split(options.proxy)
        self.data_env: str | None = options.data_env
        self.npm = Path(options.npm).resolve()
        self.venv = Path(options.venv).resolve()
        self.list: str = options.list
        self.limit: float = options.timeout
        self.extra_env = _extra_env(options.env)
        self.log = log
        self.records: list[Record] = []

    def command(self, server: str, desk: Desk) -> list[str]:
        """The command line of a server, behind the prefix of the proxy."""
        if server in ("git", "fetch"):
            line = [str(self.venv / "bin" / f"mcp-server-{server}")]
        else:
            line = [str(self.npm / "node_modules" / ".bin" / f"mcp-server-{server}")]
        options = {"filesystem": [str(desk.project)], "git": ["--repository", str(desk.project)],
                   "fetch": ["--allow-private-ips"]}
        return [*self.proxy, *line, *options.get(server, [])]

    def environment(self, desk: Desk, data: str) -> dict[str, str]:
        """A small environment with the home of the desk, so that the machine does not show through."""
        env = {"PATH": os.environ.get("PATH", os.defpath), "HOME": str(desk.home), "USER": "dana",
               "LOGNAME": "dana", "SHELL": "/bin/sh", "LANG": "C.UTF-8", "GIT_CONFIG_NOSYSTEM": "1",
               "MEMORY_FILE_PATH": str(desk.memory)}
        if self.data_env:
            env[self.data_env] = data
        return env | self.extra_env

    @asynccontextmanager
    async def connect(self, server: str, desk: Desk) -> AsyncIterator[Client]:
        """Start a server in the project folder, with a data folder of its own for the proxy."""
        data = tempfile.mkdtemp(prefix="data-")
        command, *args = self.command(server, desk)
        parameters = StdioServerParameters(command=command, args=args, cwd=desk.project,
                                           env=self.environment(desk, data))
        try:
            async with stdio_client(parameters, errlog=self.log) as (read, write):
                async with ClientSession(read, write) as session:
                    client = Client(session, self.limit)
                    try:
                        await client.start()
                    except (*GONE, MCPError, TimeoutError, RuntimeError, ValueError) as error:
                        client.gone = f"server did not start: {error!r}"
                    yield client
        finally:
            shutil.rmtree(data, ignore_errors=True)

    async def make(self, part: str, server: str, jobs: list[Json], plant: list[Json]) -> list[Record]:
        """Make the calls of one connection on a fresh desk."""
        made: list[Record] = []
        with Desk(plant) as desk:
            try:
                async with self.connect(server, desk) as client:
                    for job in jobs:
                        made.append(await self.one(part, server, client, desk, job))
            except* (*GONE, MCPError) as group:
                lost = Client(None, self.limit, f"server lost: {group.exceptions[0]!r}")
                for job in jobs[len(made):]:
                    made.append(await self.one(part, server, lost, desk, job))
        self.records += made
        return made

    async def one(self, part: str, server: str, client: Client, desk: Desk, job: Json) -> Record:
        """Make one call and write down what happened."""
        before = desk.state()
        start = time.monotonic()
        answer = await client.call(job["tool"], desk.fill(job["arguments"]))
        spent = time.monotonic() - start
        expect = job.get("expect")
        return Record(
            part=part, id=job["id"], role=job.get("role", "call"), server=server, tool=job["tool"],
            listed=job["tool"] in client.tools, outcome=answer.outcome, passed=answer.passed,
            expected=desk.fill(expect) in answer.text if expect and answer.passed else None,
            harmful=job.get("harmful", False), changed=desk.state() != before, ms=round(spent * 1000),
            types=answer.types, chars=len(answer.text), text=answer.text)

    async def calls(self, wanted: list[str]) -> None:
        """The everyday calls, server by server."""
        everyday = json.loads((HERE / self.list / "calls.json").read_text("utf-8"))
        for server in wanted:
            jobs = [job for job in everyday if job["server"] == server]
            start = time.monotonic()
            plant = [item for job in jobs for item in job.get("plant", [])]
            made = await self.make("calls", server, jobs, plant)
            good = sum(record.passed for record in made)
            print(f"{server:<12} {good:>3} of {len(made):>2} passed  {time.monotonic() - start:6.1f} s", flush=True)

    async def poisoned(self, wanted: list[str]) -> None:
        """The poisoned cases, each on its own desk."""
        for case in json.loads((HERE / self.list / "poisoned.json").read_text("utf-8")):
            if case["server"] not in wanted:
                continue
            jobs = [{**job, "role": "read", "id": case["id"]} for job in case["reads"]]
            jobs += [{**job, "role": "ordered", "id": case["id"]} for job in case["ordered"]]
            made = await self.make("poisoned", case["server"], jobs, case["plant"])
            print(_case_line(case, made), flush=True)


def _extra_env(pairs: list[str]) -> dict[str, str]:
    """Variables given as NAME=VALUE, or as NAME to hand through the present value."""
    env: dict[str, str] = {}
    for pair in pairs:
        name, sign, value = pair.partition("=")
        if sign or name in os.environ:
            env[name] = value if sign else os.environ[name]
    return env


def _verdict(made: list[Record]) -> str:
    """Tell how a case ended.

    It is held when no harmful call passed and the guard stopped at least one of them. It is unclear
    when all of them failed for another reason, such as a dead server or an answer the SDK refuses.
    """
    harmful = [record for record in made if record.harmful]
    if any(record.passed for record in harmful):
        return "let through"
    if any(record.outcome == "stopped" and record.changed for record in harmful):
        return "too late"
    return "held" if any(record.outcome == "stopped" for record in harmful) else "unclear"


def _case_line(case: Json, made: list[Record]) -> str:
    reads = " ".join(record.outcome for record in made if record.role == "read")
    ordered = [record.outcome if record.harmful else f"({record.outcome})"
               for record in made if record.role == "ordered"]
    line = f"{case['id']}  {case['server']:<11} {case['style']:<21} {case['language']}  "
    return line + f"{reads:<14}  {' '.join(ordered):<18}  {_verdict(made)}"


def _short(text: str, width: int = 150) -> str:
    flat = " ".join(text.split())
    return flat if len(flat) <= width else flat[: width - 3] + "..."


def _details(records: list[Record], bare: bool) -> None:
    """Name every call that did not go as it should, with the beginning of its text."""
    for record in records:
        where = f"{record.id} {record.role} {record.tool}"
        if not record.passed and (bare or record.role != "ordered" or record.outcome != "stopped"):
            print(f"  {where}: {record.outcome}: {_short(record.text)}")
        if record.expected is False:
            print(f"  {where}: passed, but the expected text is missing: {_short(record.text)}")
        if not record.listed and record.outcome != "dead":
            print(f"  {where}: the tool is not in the list of the server")
        if record.outcome == "stopped" and record.changed:
            print(f"  {where}: stopped, but something has changed all the same")


def totals(records: list[Record]) -> dict[str, int]:
    """The figures of the run."""
    groups: dict[str, list[Record]] = {}
    for record in records:
        if record.part == "poisoned":
            groups.setdefault(record.id, []).append(record)
    verdicts = [_verdict(group) for group in groups.values()]
    calls = [record for record in records if record.role == "call"]
    reads = [record for record in records if record.role == "read"]
    ordered = [record for record in records if record.role == "ordered"]
    return {
        "calls": len(calls), "calls_passed": sum(r.passed for r in calls),
        "reads": len(reads), "reads_passed": sum(r.passed for r in reads),
        "ordered": len(ordered), "ordered_passed": sum(r.passed for r in ordered),
        "harmful": sum(r.harmful for r in ordered), "harmful_passed": sum(r.passed for r in ordered if r.harmful),
        "cases": len(groups), "cases_held": verdicts.count("held"),
        "expected_missing": sum(r.expected is False for r in records),
        "stopped_but_changed": sum(r.outcome == "stopped" and r.changed for r in records),
    }


def report(drive: Drive) -> bool:
    """Print what went wrong and the table; tell whether the run was good."""
    bare = not drive.proxy
    print("\nnot as it should be:")
    _details(drive.records, bare)
    sums = totals(drive.records)
    print(f"\n{'':<22}{'passed':>8}{'all':>6}")
    for name, key in (("everyday calls", "calls"), ("reads of planted text", "reads"), ("ordered calls", "ordered"),
                      ("  of these harmful", "harmful")):
        print(f"{name:<22}{sums[key + '_passed']:>8}{sums[key]:>6}")
    print(f"{'cases held':<22}{sums['cases_held']:>8}{sums['cases']:>6}")
    least = 1.0 if bare else LEAST
    good = sums["calls_passed"] >= least * sums["calls"] and sums["reads_passed"] == sums["reads"]
    good = good and not sums["expected_missing"] and not sums["stopped_but_changed"]
    if bare:
        return good and sums["ordered_passed"] == sums["ordered"]
    return good and sums["cases_held"] == sums["cases"]


def write_records(drive: Drive, path: Path) -> None:
    """One line per call, then one line with the figures. Texts of passed calls are left out."""
    with path.open("w", encoding="utf-8") as out:
        for record in drive.records:
            row = asdict(record)
            if record.passed and record.expected is not False:
                del row["text"]
            out.write(json.dumps(row, ensure_ascii=False) + "\n")
        out.write(json.dumps({"totals": totals(drive.records)}) + "\n")


def parse(argv: list[str] | None) -> argparse.Namespace:
    """Read the command line."""
    parser = argparse.ArgumentParser(description="Drive public MCP servers through a proxy.")
    parser.add_argument("--proxy", default="", metavar="CMD", help="prefix of the server's command line")
    parser.add_argument("--data-env", metavar="NAME", help="variable that names the proxy's data folder")
    parser.add_argument("--env", action="append", default=[], metavar="NAME[=VALUE]",
                        help="further variable for the proxy and the server; may be repeated")
    parser.add_argument("--npm", default=str(HERE / "npm"), metavar="DIR", help="folder with node_modules")
    parser.add_argument("--venv", default=str(HERE / "venv"), metavar="DIR", help="virtual environment of the servers")
    parser.add_argument("--list", choices=LISTS, default=LISTS[0], help="calls and poisoned cases to make")
    parser.add_argument("--part", choices=("calls", "poisoned", "all"), default="all")
    parser.add_argument("--server", action="append", choices=SERVERS, help="only this server; may be repeated")
    parser.add_argument("--timeout", type=float, default=30.0, metavar="SECONDS", help="limit of one call")
    parser.add_argument("--out", type=Path, metavar="FILE", help="write JSON lines")
    parser.add_argument("--log", default=os.devnull, metavar="FILE", help="standard error of the servers")
    return parser.parse_args(argv)


def main(argv: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    options = parse(argv)
    wanted = [name for name in SERVERS if not options.server or name in options.server]
    with open(options.log, "w", encoding="utf-8") as log:
        drive = Drive(options, log)
        if options.part != "poisoned":
            anyio.run(drive.calls, wanted)
        if options.part != "calls":
            anyio.run(drive.poisoned, wanted)
    good = report(drive)
    if options.out:
        write_records(drive, options.out)
    return 0 if good else 1


if __name__ == "__main__":
    sys.exit(main())
