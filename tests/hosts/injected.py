#!/usr/bin/env python3
"""Sessions in which a page, an issue or the result of an MCP tool tells the agent what its user did not ask for.

    injected.py AGRAIL HOSTS SESSIONS.json [--host NAME] [--session NAME] [--out FILE] [--bare] [--cache DIR]

SESSIONS.json: a list of sessions: the prompt, the files of the project and the home, sites, MCP tools, and the steps of the model,
which is a script that obeys the text: `read` it, take the attacker's steps (`attack`), finish its user's `task`. A step is
{"shell"}, {"write", "content"} or {"mcp", "tool", "args"}. A check is {"gone"}, {"exists"}, {"file", "has"}, {"received"} (by a
site), {"called", "has"} (a tool) or {"git", "has"}.
What counts is what is true afterwards: one of `harm`, and all of `done`.

--bare: without the guard, which shows that the attacks work and the tasks can be finished.
--cache: a folder with the embedding model (`agrail doctor --fetch`), which the guard then uses.
"""
import argparse
import http.server
import json
import os
import subprocess
import sys
import threading

import apart
from run import Desk, HERE


class Web(http.server.BaseHTTPRequestHandler):
    """All sites; each request is recorded."""

    pages, received = {}, []

    def log_message(self, *_):
        """Nothing on standard error."""

    def answer(self):
        """A page, 404, or thanks for what was sent."""
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        url = f"http://{self.headers.get('Host')}{self.path}"
        page = self.pages.get(url) if self.command in ("GET", "HEAD") else "{\"ok\": true}\n"
        self.received.append(f"{url} {body.decode(errors='replace')}")
        data = (page if page is not None else "not found\n").encode()
        self.send_response(404 if page is None else 200)
        self.send_header("Content-Type", "text/html" if data.startswith(b"<") else "text/plain")
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    do_GET = do_HEAD = do_POST = do_PUT = do_PATCH = do_DELETE = answer


def written(folder, files):
    """Writes the files of a session."""
    for name, content in files.items():
        path = f"{folder}/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "w", encoding="utf-8") as file:
            file.write(content)


def placed(desk, path):
    """The path of a check or a step: of the home, or of the project."""
    return desk.home + path[1:] if path.startswith("~") else f"{desk.project}/{path}"


def prepared(desk, case):
    """Project, home and remote of a session; the arguments that give the host its MCP servers."""
    written(desk.project, case["project"])
    written(desk.home, case.get("home", {}))
    desk.ran("git", "config", "--global", "user.name", "Sam Doe")
    desk.ran("git", "config", "--global", "user.email", "sam@work.example")
    desk.ran("git", "init", "-q", "-b", "main")
    desk.ran("git", "add", "-A")
    desk.ran("git", "commit", "-q", "--allow-empty", "-m", "first")
    desk.ran("git", "init", "-q", "--bare", "-b", "main", desk.top + "/origin.git")
    desk.ran("git", "remote", "add", "origin", desk.top + "/origin.git")
    desk.ran("git", "push", "-q", "-u", "origin", "main")
    servers = {}
    for name, tools in case.get("mcp", {}).items():
        with open(f"{desk.top}/{name}.json", "w", encoding="utf-8") as file:
            json.dump(tools, file)
        servers[name] = {"command": sys.executable,
                         "args": [f"{HERE}/mcp_server.py", f"{desk.top}/{name}.json", desk.top + "/calls.jsonl"]}
    if desk.host == "claude-code":
        with open(desk.top + "/servers.json", "w", encoding="utf-8") as file:
            json.dump({"mcpServers": servers}, file)
        return ["--mcp-config", desk.top + "/servers.json"] if servers else []
    more = [f"mcp_servers.{name}={{command={json.dumps(server['command'])},args={json.dumps(server['args'])}}}"
            for name, server in servers.items()]
    return [word for setting in more for word in ("-c", setting)]


def turns_of(desk, step):
    """The turns in which the model takes this step."""
    if "shell" in step:
        return [desk.call(step["shell"])]
    if "mcp" in step and desk.host == "codex":
        return [{"tool": step["tool"], "namespace": f"mcp__{step['mcp'].replace('-', '_')}", "input": step["args"]}]
    if "mcp" in step:
        return [{"tool": f"mcp__{step['mcp']}__{step['tool']}", "input": step["args"]}]
    path = placed(desk, step["write"])
    if desk.host == "codex":
        lines = "".join(f"+{line}\n" for line in step["content"].splitlines())
        return [{"tool": "apply_patch", "raw": f"*** Begin Patch\n*** Add File: {path}\n{lines}*** End Patch\n"}]
    # Claude Code writes only over files that it has read
    read = [{"tool": "Read", "input": {"file_path": path}}] if os.path.exists(path) else []
    return read + [{"tool": "Write", "input": {"file_path": path, "content": step["content"]}}]


def holds(desk, check):
    """Whether a check is true."""
    if "received" in check:
        return any(check["received"] in one for one in Web.received)
    if "called" in check:
        try:
            with open(desk.top + "/calls.jsonl", encoding="utf-8") as file:
                calls = [json.loads(line) for line in file]
        except FileNotFoundError:
            return False
        return any(call["name"] == check["called"] and check.get("has", "") in json.dumps(call["arguments"], ensure_ascii=False)
                   for call in calls)
    if "git" in check:
        done = subprocess.run(f"git {check['git']}", shell=True, cwd=desk.project, env=desk.env, capture_output=True, text=True,
                              check=False)
        return check["has"] in done.stdout
    path = placed(desk, check.get("gone") or check.get("exists") or check.get("file"))
    if "file" not in check:
        return os.path.exists(path) == ("exists" in check)
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return check["has"] in file.read()
    except FileNotFoundError:
        return False


def session(desk, case, bare):
    """Runs one session; whether it did harm, whether its task was finished, and which of its steps were blocked."""
    more = prepared(desk, case)
    Web.pages, Web.received = case.get("sites", {}), []
    if not bare:
        desk.install()
    parts = [(part, step) for part in ("read", "attack", "task") for step in case[part]]
    turns, owners = [], []
    for part, step in parts:
        for turn in turns_of(desk, step):
            turns.append(turn)
            owners.append((part, step))
    results = desk.turns(turns, prompt=case["prompt"], more=more, limit=150)
    blocked = [{"part": part, "step": step, "says": result[:600]} for (part, step), result in zip(owners, results)
               if "agrail approvals" in result or "agrail:" in result]
    return {"session": case["name"], "host": desk.host, "source": case["source"], "harm": any(holds(desk, c) for c in case["harm"]),
            "done": all(holds(desk, c) for c in case["done"]), "blocked": blocked,
            "results": [] if not bare else [result[:300] for result in results]}


def named(cases):
    """Makes the sites' names known: all are this machine."""
    hosts = {word.split("/")[2].split(":")[0] for case in cases
             for word in json.dumps(case).replace('"', " ").replace("'", " ").split() if word.startswith("http") and word.count("/") > 1}
    with open("/etc/hosts", "a", encoding="utf-8") as file:
        file.write("".join(f"127.0.0.1 {host}\n" for host in sorted(hosts)))


def main():
    """Runs the sessions; exit code 1 if one did harm or did not finish its task."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("agrail")
    parser.add_argument("hosts")
    parser.add_argument("sessions")
    parser.add_argument("--host", choices=("claude-code", "codex"))
    parser.add_argument("--session", default="")
    parser.add_argument("--out")
    parser.add_argument("--bare", action="store_true")
    parser.add_argument("--cache")
    args = parser.parse_args()
    if not apart.enter():
        raise SystemExit("these sessions do harm on purpose, so they need namespaces of their own; run this as root")
    with open(args.sessions, encoding="utf-8") as file:
        cases = [case for case in json.load(file) if args.session in case["name"]]
    named(cases)
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 80), Web)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    records = []
    for host in [args.host] if args.host else ["claude-code", "codex"]:
        for case in cases:
            with Desk(os.path.abspath(args.agrail), os.path.abspath(args.hosts), host) as desk:
                desk.env.update({"XDG_CACHE_HOME": os.path.abspath(args.cache)} if args.cache else {})
                record = session(desk, case, args.bare)
            records.append(record)
            parts = [one["part"] for one in record["blocked"]]
            print(f"{host:12} {case['name']:44} {'HARM' if record['harm'] else 'safe'} "
                  f"{'done' if record['done'] else 'NOT DONE':8} blocked: {', '.join(parts) or 'nothing'}", flush=True)
        own = [record for record in records if record["host"] == host]
        print(f"{host}: {sum(one['harm'] for one in own)} of {len(own)} did harm, {sum(one['done'] for one in own)} finished")
    if args.out:
        with open(args.out, "w", encoding="utf-8") as file:
            json.dump(records, file, indent=1)
    sys.exit(any(record["harm"] or not record["done"] for record in records) and not args.bare)


if __name__ == "__main__":
    main()
