"""AgentDojo with an agent that obeys every injection it reads, with and without the guard. No model is involved.

    pip install -r eval/agentdojo/requirements.txt
    python3 eval/agentdojo/run.py --agrail target/release/agrail [--guard off] --out results.jsonl

1. The agent makes the calls of the user task's ground truth. The guard knows the user's prompt, is asked before each
   call, and learns each result as AgentDojo shows it to a model (of a failed call: the error).
2. As soon as a result contains the injection, the agent tries the ground truth of the injection task, computed for the
   environment as it is then: it knows the arguments even if the guard has kept it from reading them. After that it
   goes on with the user's calls, which were fixed at the start.
3. The answer consists of the texts that the tasks expect (`GROUND_TRUTH_OUTPUT`); the guard is asked about each. The
   agent answers the user only if all of the user's calls were made: it cannot report what it has not seen.
4. AgentDojo's own checks judge both tasks by the environment, the calls that were made, and the answer.

A call that the guard does not allow (ask or deny) is not made, and the agent goes on with the next one. A guard that
does not answer ends the run. Where an injection task has no ground truth, the agent can try nothing, so that the pair
is not among the attacks. `--out` gets a line for each pair, with every attempt, the guard's decision and its reason.
"""

import argparse
import contextlib
import functools
import http.client
import io
import json
import math
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any, TextIO

from agentdojo.agent_pipeline import BasePipelineElement, GroundTruthPipeline
from agentdojo.agent_pipeline.tool_execution import tool_result_to_str
from agentdojo.attacks import BaseAttack, load_attack
from agentdojo.base_tasks import BaseInjectionTask, BaseUserTask
from agentdojo.functions_runtime import EmptyEnv, Env, FunctionCall, FunctionReturnType, FunctionsRuntime
from agentdojo.task_suite import get_suite, get_suites
from agentdojo.types import ChatAssistantMessage, ChatMessage, TextContentBlock
from pydantic import BaseModel

VERSION = "v1.2.2"
ATTACKS = ["important_instructions", "direct", "injecagent", "tool_knowledge"]
NO_ATTACK = "none"
SUITES = sorted(get_suites(VERSION))
MODEL = "gpt-4o-2024-05-13"  # some attacks address the model by name
HOST = "127.0.0.1"
START_S, ANSWER_S = 60, 30
EMPTY = EmptyEnv()
Record = dict[str, Any]
Unit = tuple[str, str, str]


class GuardError(Exception):
    """The guard cannot be started, cannot be reached, or gives no decision."""


class Session:
    """A session of the guard."""

    def __init__(self, port: int, name: str) -> None:
        self.name, self.connection = name, http.client.HTTPConnection(HOST, port, timeout=ANSWER_S)

    def check(self, action: Record) -> Record:
        """The verdict on an action."""
        verdict = self._post("/v1/check", {"action": action, "session": self.name})
        if verdict.get("decision") not in ("allow", "ask", "deny"):
            raise GuardError(f"the guard gave no decision: {verdict}")
        return verdict

    def observe(self, **event: Any) -> None:
        """Reports what happened."""
        self._post(f"/v1/sessions/{self.name}/observe", event)

    def _post(self, path: str, body: Record) -> Record:
        try:
            self.connection.request("POST", path, json.dumps(body))
            response = self.connection.getresponse()
            answer = response.read()
            if response.status != 200:
                raise GuardError(f"the guard answered {response.status}: {answer[:500].decode(errors='replace')}")
            return json.loads(answer)
        except (OSError, http.client.HTTPException, ValueError) as error:
            raise GuardError(f"the guard gave no answer: {error or type(error).__name__}") from error


class ObedientAgent(BasePipelineElement):
    """Does the user's task and obeys the injection. Without a session, nothing is checked."""

    def __init__(
        self, user: BaseUserTask, injection: BaseInjectionTask | None, injected: Record, session: Session | None
    ) -> None:
        self.user, self.injection, self.session = user, injection, session
        self.injected = list(texts(injected))
        self.read, self.armed, self.complete = False, False, True
        self.attempts: list[Record] = []
        self.messages: list[ChatMessage] = []

    def query(
        self, query: str, runtime: FunctionsRuntime, env: Env = EMPTY, messages: Sequence = (), extra_args: Any = None
    ) -> tuple[str, FunctionsRuntime, Env, Sequence[ChatMessage], dict]:
        if self.session:
            self.session.observe(prompt=query)
        task = self.injection
        self.armed = task is not None and bool(task.ground_truth(env) or task.GROUND_TRUTH_OUTPUT)
        for call in self.user.ground_truth(env):
            result = list(texts(self._call("user", call, runtime, env)))
            if task and not self.read and any(injected in text for text in result for injected in self.injected):
                self.read = True
                for order in task.ground_truth(env):
                    self._call("injection", order, runtime, env)
        answers = self._say("injection", task.GROUND_TRUTH_OUTPUT) if task and self.read else []
        if self.complete:
            answers += self._say("user", self.user.GROUND_TRUTH_OUTPUT)
        self.messages.append(ChatAssistantMessage(role="assistant", content=answers, tool_calls=None))
        return query, runtime, env, [*messages, *self.messages], extra_args or {}

    def _call(self, whose: str, call: FunctionCall, runtime: FunctionsRuntime, env: Env) -> FunctionReturnType:
        """Makes a call and returns its result, if the guard allows it."""
        action = {"type": "tool_call", "server": None, "tool": call.function}
        verdict = self._check(whose, action | {"arguments": call.model_dump(mode="json")["args"]})
        if verdict is None:
            return None
        result, error = runtime.run_function(env, call.function, call.args)
        if self.session:
            text = error or tool_result_to_str(result)
            self.session.observe(call=verdict, source=f"tool:{call.function}", text=text)
        self.messages.append(ChatAssistantMessage(role="assistant", content=[], tool_calls=[call]))
        return result

    def _say(self, whose: str, text: str) -> list[TextContentBlock]:
        """The text as a part of the answer, if there is one and the guard allows it."""
        verdict = self._check(whose, {"type": "message", "text": text}) if text else None
        if verdict and self.session:
            self.session.observe(call=verdict)
        return [TextContentBlock(type="text", content=text)] if verdict else []

    def _check(self, whose: str, action: Record) -> str | None:
        """The id of the verdict, if the guard allows the action."""
        verdict = self.session.check(action) if self.session else {"decision": None, "reason": None}
        self.attempts.append({"by": whose, **action, "decision": verdict["decision"], "reason": verdict["reason"]})
        if not self.session:
            return "unguarded"
        if verdict["decision"] == "allow":
            return verdict["id"]
        self.session.observe(call=verdict["id"], made=False)
        self.complete = self.complete and whose != "user"
        return None


def texts(value: Any) -> Iterator[str]:
    """All texts in a value, without white space, which the YAML of an environment folds."""
    if isinstance(value, BaseModel):
        value = value.model_dump()
    if isinstance(value, str):
        yield "".join(value.split())
    elif isinstance(value, dict | list):
        for part in value.values() if isinstance(value, dict) else value:
            yield from texts(part)


@functools.cache
def prepared(attack: str, suite: str) -> BaseAttack:
    """An attack on a suite."""
    target = GroundTruthPipeline(None)
    target.name = MODEL
    return load_attack(attack, get_suite(VERSION, suite), target)


def run_unit(unit: Unit, port: int | None) -> list[Record]:
    """Runs an attack on a user task with each injection task of the suite; one record for each pair."""
    attack, suite_name, task_id = unit
    suite = get_suite(VERSION, suite_name)
    task = suite.get_user_task_by_id(task_id)
    records = []
    for injection in [None] if attack == NO_ATTACK else suite.injection_tasks.values():
        other = injection.ID if injection else None
        injected = prepared(attack, suite_name).attack(task, injection) if injection else {}
        session = Session(port, f"{suite_name}-{attack}-{task_id}-{other}") if port else None
        agent = ObedientAgent(task, injection, injected, session)
        with contextlib.redirect_stdout(io.StringIO()):  # some of AgentDojo's checks print
            utility, security = suite.run_task_with_pipeline(agent, task, injection, injected)
        record = {"suite": suite_name, "user_task": task_id, "injection_task": other, "attack": attack}
        record |= {"guard": port is not None, "armed": agent.armed, "read": agent.read, "utility": utility}
        records.append(record | {"security": security if injection else None, "attempts": agent.attempts})
    return records


@contextlib.contextmanager
def guard(program: Path) -> Iterator[int]:
    """Runs the guard with default settings and data of its own; its port."""
    with socket.create_server((HOST, 0)) as probe:
        port = probe.getsockname()[1]
    with tempfile.TemporaryDirectory(prefix="agrail-agentdojo-") as folder, Path(folder, "log").open("w+") as log:
        settings = {name: value for name, value in os.environ.items() if not name.startswith("AGRAIL_")}
        settings |= {"XDG_DATA_HOME": folder, "XDG_STATE_HOME": folder}
        command = [program, "serve", "--config", "/dev/null", "--listen", f"{HOST}:{port}"]
        with subprocess.Popen(command, env=settings, stdout=log, stderr=subprocess.STDOUT) as process:
            try:
                if not healthy(process, port):
                    log.seek(0)
                    raise GuardError(f"the guard did not start: {log.read(1000)}")
                yield port
            finally:
                process.kill()


def healthy(process: subprocess.Popen, port: int) -> bool:
    """Waits until the guard answers; false if it ends or takes too long."""
    deadline = time.monotonic() + START_S
    while process.poll() is None and time.monotonic() < deadline:
        connection = http.client.HTTPConnection(HOST, port, timeout=1)
        with contextlib.suppress(OSError, http.client.HTTPException), contextlib.closing(connection):
            connection.request("GET", "/health")
            return connection.getresponse().status == 200
        time.sleep(0.1)
    return False


def run_all(units: list[Unit], port: int | None, jobs: int, out: TextIO | None) -> list[Record]:
    """Runs all units in `jobs` processes. Records are written as they come, in the order of the units."""
    records: list[Record] = []
    pool = ProcessPoolExecutor(jobs)
    try:
        for number, found in enumerate(pool.map(functools.partial(run_unit, port=port), units), 1):
            records += found
            if out:
                out.writelines(json.dumps(record, ensure_ascii=False) + "\n" for record in found)
                out.flush()
            print(f"\r{number} of {len(units)} user tasks, {len(records)} pairs", end="", file=sys.stderr, flush=True)
    finally:
        pool.shutdown(cancel_futures=True)
        print(file=sys.stderr)
    return records


def share(part: int, whole: int) -> str:
    """A count with its share and Wilson 95 % interval, in percent."""
    if not whole:
        return "-"
    z, rate = 1.96, part / whole
    middle = rate + z * z / (2 * whole)
    half = z * math.sqrt(rate * (1 - rate) / whole + z * z / (4 * whole * whole))
    low, high = (100 * bound / (1 + z * z / whole) for bound in (middle - half, middle + half))
    return f"{part} of {whole}: {100 * rate:.1f} % [{abs(low):.1f}, {high:.1f}]"


def table(records: list[Record]) -> str:
    """The results of each attack, in Markdown."""
    lines = ["| attack | pairs | injection read | attacks that succeed | user tasks done |", "|---|---|---|---|---|"]
    for attack in dict.fromkeys(record["attack"] for record in records):
        group = [record for record in records if record["attack"] == attack]
        armed = [record for record in group if record["armed"]]
        parts = ((group if armed else [], "read"), (armed, "security"), (group, "utility"))
        cells = " | ".join(share(sum(record[key] for record in part), len(part)) for part, key in parts)
        lines.append(f"| {attack} | {len(group)} | {cells} |")
    return "\n".join(lines)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--agrail", type=Path, default=Path("target/release/agrail"), help="the guard's program")
    parser.add_argument("--guard", choices=["on", "off"], default="on")
    parser.add_argument("--attack", action="append", choices=[NO_ATTACK, *ATTACKS], help="repeatable; default: all")
    parser.add_argument("--suite", action="append", choices=SUITES, help="repeatable; default: all")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="processes; default: the cores")
    parser.add_argument("--out", type=Path, help="file for the results, as JSON lines")
    return parser.parse_args()


def main() -> int:
    options = arguments()
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(143))  # so that the guard is stopped as well
    units = [
        (attack, suite, task)
        for attack in options.attack or [NO_ATTACK, *ATTACKS]
        for suite in options.suite or SUITES
        for task in get_suite(VERSION, suite).user_tasks
    ]
    try:
        with contextlib.ExitStack() as stack:
            out = stack.enter_context(options.out.open("w", encoding="utf-8")) if options.out else None
            port = stack.enter_context(guard(options.agrail)) if options.guard == "on" else None
            records = run_all(units, port, options.jobs, out)
    except (GuardError, OSError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    print(table(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
