#!/usr/bin/env python3
"""The hook in front of the real programs of the hosts, headless, on a scripted model on 127.0.0.1.

    run.py AGRAIL HOSTS [NAME...]

AGRAIL: the program. HOSTS: a folder with the hosts' programs (and the `node` that they need) in its `bin`. Each scenario has
a HOME of its own, with `agrail install` run in it as a user would, a project folder, and a script of what the model says. What
counts is what happened to the files, and what the host reported back to the model. NAME: only scenarios that contain it.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

import apart

HERE = os.path.dirname(os.path.abspath(__file__))
# the shell of each host: its name, and the argument with the command
SHELL = {"claude-code": ("Bash", "command"), "codex": ("exec_command", "cmd"), "gemini-cli": ("run_shell_command", "command"),
         "qwen-code": ("run_shell_command", "command"), "opencode": ("bash", "command"), "copilot": ("bash", "command"),
         "goose": ("shell", "command"), "cline": ("run_commands", "commands")}


def started(host, env, port, mode, prompt="go on", more=()):
    """The command line and the environment that start a host on the endpoint. `more`: further arguments of it."""
    url = f"http://127.0.0.1:{port}"
    if host == "codex":
        provider = f'model_providers.scripted={{name="s",base_url="{url}/v1",wire_api="responses",env_key="KEY"}}'
        return ["codex", "exec", "--skip-git-repo-check", "-s", "danger-full-access", "-m", "gpt-5.5", "-c", provider,
                "-c", 'model_provider="scripted"', *more, prompt], {"KEY": "x"}
    if host == "claude-code":
        return ["claude", "-p", prompt, "--output-format", "json", "--permission-mode", mode, *more], {
            "ANTHROPIC_BASE_URL": url, "ANTHROPIC_API_KEY": "sk-dummy", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
    if host == "gemini-cli":
        return ["gemini", "-m", "gemini-2.5-flash", "--skip-trust", "-y", "-p", "go on"], {
            "GOOGLE_GEMINI_BASE_URL": url, "GEMINI_API_KEY": "dummy"}
    if host == "qwen-code":
        return ["qwen", "-m", "mock", "--auth-type", "openai", "-y", "-p", "go on"], {
            "OPENAI_BASE_URL": f"{url}/v1", "OPENAI_API_KEY": "dummy", "OPENAI_MODEL": "mock"}
    if host == "opencode":
        provider = {"npm": "@ai-sdk/openai-compatible", "name": "mock", "options": {"baseURL": f"{url}/v1", "apiKey": "x"},
                    "models": {"mock": {"name": "mock"}}}
        config = {"provider": {"mock": provider}, "model": "mock/mock"}
        return ["opencode", "run", "-m", "mock/mock", "go on with it"], {
            "OPENCODE_CONFIG_CONTENT": json.dumps(config), "OPENCODE_DISABLE_AUTOUPDATE": "1", "OPENCODE_DISABLE_MODELS_FETCH": "1"}
    if host == "copilot":
        return ["copilot", "--no-auto-update", "-p", "go on", "--allow-all-tools"], {
            "COPILOT_PROVIDER_BASE_URL": f"{url}/v1", "COPILOT_MODEL": "mock", "COPILOT_OFFLINE": "true",
            "COPILOT_DISABLE_KEYTAR": "1"}
    if host == "goose":
        return ["goose", "run", "--no-session", "-q", "-t", "go on"], {
            "GOOSE_PROVIDER": "openai", "GOOSE_MODEL": "mock", "OPENAI_HOST": url, "OPENAI_API_KEY": "x",
            "GOOSE_DISABLE_KEYRING": "1", "GOOSE_MODE": "auto"}
    assert host == "cline", host
    subprocess.run(["cline", "auth", "-p", "openai-compatible", "-k", "x", "-m", "mock", "-b", f"{url}/v1"], check=True,
                   env=env, stdin=subprocess.DEVNULL, capture_output=True, timeout=60)
    return ["cline", "-P", "openai-compatible", "-m", "mock", "go on with this task"], {}


class Desk:
    """One HOME with one host in it."""

    def __init__(self, agrail, hosts, host):
        self.agrail, self.hosts, self.host = agrail, hosts, host
        # a project in /tmp is one that others can change
        self.top = apart.home() or tempfile.mkdtemp(prefix="agrail-hosts-")
        self.home, self.project = self.top, self.top + "/project"
        os.makedirs(self.project + "/.git/hooks")
        # the guard is a copy that a scenario may break
        self.guard = self.top + "/bin/agrail"
        os.makedirs(self.top + "/bin")
        shutil.copy(agrail, self.guard)
        shutil.copy(agrail + "-hook", self.guard + "-hook")
        self.env = {"HOME": self.home, "PATH": f"{hosts}/bin:{self.top}/bin:/usr/local/bin:/usr/bin:/bin", "LANG": "C.UTF-8",
                    "SHELL": "/bin/bash", "USER": "user", "IS_SANDBOX": "1"}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        shutil.rmtree(self.top, ignore_errors=True)

    def install(self, *more):
        """`agrail install HOST`, as a user types it, beside the settings that the host needs."""
        settings = self.home + "/.gemini/settings.json"
        if self.host == "gemini-cli" and not os.path.exists(settings):
            os.makedirs(self.home + "/.gemini")
            with open(settings, "w", encoding="utf-8") as file:
                json.dump({"security": {"auth": {"selectedType": "gemini-api-key"}}}, file)
        self.ran(self.guard, "install", self.host, *more)

    def ran(self, *words, expect=0):
        """A command in the project; its output."""
        done = subprocess.run(words, cwd=self.project, env=self.env, capture_output=True, text=True, timeout=120)
        if expect is not None and done.returncode != expect:
            raise AssertionError(f"{words}: {done.returncode}\n{done.stdout}{done.stderr}")
        return done.stdout + done.stderr

    def call(self, command):
        """A turn in which the model calls the shell."""
        tool, argument = SHELL[self.host]
        return {"tool": tool, "input": {argument: [command] if argument == "commands" else command}}

    def turns(self, turns, mode="bypassPermissions", limit=90, **said):
        """Runs the host on a script; the results that it reported to the model, and whether it was there at all."""
        script, log, port = (f"{self.top}/{name}" for name in ("script.json", "log.jsonl", "port"))
        for old in (log, port):
            if os.path.exists(old):
                os.remove(old)
        with open(script, "w", encoding="utf-8") as file:
            json.dump(turns, file)
        server = subprocess.Popen([sys.executable, f"{HERE}/endpoint.py", script, "--log", log, "--port-file", port,
                                   "--max-s", str(limit)], stdout=subprocess.PIPE, text=True)
        try:
            number = server.stdout.readline().strip()
            words, more = started(self.host, self.env, number, mode, **said)
            env = {**self.env, **more}
            done = subprocess.run(words, cwd=self.project, env=env, stdin=subprocess.DEVNULL, capture_output=True, text=True, timeout=limit)
            with open(log, encoding="utf-8") as file:
                entries = [json.loads(line) for line in file]
        finally:
            server.kill()
        carried = [entry["body"] for entry in entries if entry["turn"] is not None]
        assert carried, f"the host made no request: {done.stdout}{done.stderr}"
        sys.path.insert(0, HERE)
        import endpoint
        return endpoint.tool_results(carried[-1])


def deny_and_silence(desk):
    """What is denied does not run, what is allowed does."""
    desk.install()
    results = desk.turns([desk.call("chmod 000 /etc/agrail-no-such"), desk.call("echo fine > ran.txt")])
    assert "agrail" in results[0], results
    assert os.path.exists(desk.project + "/ran.txt"), results


def ends_the_task(desk):
    """The host has no answer that blocks one call: what is not allowed ends the task, and what is allowed runs."""
    desk.install()
    desk.turns([desk.call("echo fine > ran.txt"), desk.call("chmod 000 /etc/agrail-no-such; touch denied.txt"),
                desk.call("touch later.txt")])
    assert sorted(os.listdir(desk.project)) == [".git", "ran.txt"], os.listdir(desk.project)


def asks_block(desk):
    """What is asked does not run without an answer; the block names the command that answers it."""
    desk.install()
    results = desk.turns([desk.call("curl -s -X DELETE http://127.0.0.1:9/x; touch asked.txt")])
    assert not os.path.exists(desk.project + "/asked.txt"), results
    assert "agrail approvals approve" in results[0], results


def own_settings(desk):
    """The guard's own hook entry, its settings and hooks of git are not changed, in the mode that drops asks."""
    desk.install()
    folder = ".claude" if desk.host == "claude-code" else ".codex"
    file = f"{desk.home}/{folder}/" + ("settings.json" if desk.host == "claude-code" else "hooks.json")
    before = open(file, encoding="utf-8").read()
    commands = [f"echo {{}} > ~/{folder}/{os.path.basename(file)}", "mkdir -p ~/.config/agrail; echo x > ~/.config/agrail/config.toml",
                "printf 'touch /tmp/x' > .git/hooks/pre-commit", "echo 'curl x' > .envrc", f"{desk.guard} install {desk.host} --uninstall"]
    turns = [desk.call(command) for command in commands]
    if desk.host == "claude-code":
        turns += [{"tool": "Write", "input": {"file_path": file, "content": "{}"}},
                  {"tool": "Write", "input": {"file_path": desk.project + "/.git/hooks/post-commit", "content": "x"}},
                  {"tool": "Write", "input": {"file_path": desk.project + "/.envrc", "content": "x"}}]
    results = desk.turns(turns)
    assert open(file, encoding="utf-8").read() == before, results
    assert not os.path.exists(desk.home + "/.config/agrail/config.toml"), results
    assert not os.listdir(desk.project + "/.git/hooks") and not os.path.exists(desk.project + "/.envrc"), results
    assert all("agrail" in result for result in results), results


def broken_guard(desk):
    """A guard that is missing, killed, silent with an error, garbled, stopped or slow blocks each call."""
    desk.install()
    # the guard's own time limit, a second instead of two minutes
    shim = os.path.dirname(desk.guard) + "/timeout"
    with open(shim, "w", encoding="utf-8") as file:
        file.write('#!/bin/sh\n[ "$1 $2" = "-k 5" ] || exit 99\nshift 3\nexec /usr/bin/timeout -k 1 1 "$@"\n')
    os.chmod(shim, 0o755)
    guards = {
        "missing": None,
        "killed": "#!/bin/sh\nkill -9 $$\n",
        "silent error": "#!/bin/sh\nexit 1\n",
        "silent block": "#!/bin/sh\nexit 2\n",
        "garbled": "#!/bin/sh\nprintf '{\"hookSpecificOutput\": {\"hookEv'\nexit 1\n",
        "text": "#!/bin/sh\necho all is well\n",
        "library": "#!/bin/sh\n/lib/no-such-loader\n",
        "slow": "#!/bin/sh\nsleep 60\n",
    }
    if desk.host == "opencode":
        # the plugin has its own time limit, of two minutes
        del guards["slow"]
    for name, text in guards.items():
        if os.path.exists(desk.guard):
            os.remove(desk.guard)
        if text is not None:
            with open(desk.guard, "w", encoding="utf-8") as file:
                file.write(text)
            os.chmod(desk.guard, 0o755)
        # the prompt's own hook blocks the whole turn where the host lets it: no request, nothing ran
        try:
            results = desk.turns([desk.call(f"echo x > ran-{name.split()[0]}.txt")])
        except AssertionError as problem:
            results = [str(problem)]
        assert not [one for one in os.listdir(desk.project) if one.startswith("ran-")], (name, results)


def typed(desk):
    """A program that waits for typed input is not started where the host can type into it."""
    desk.install()
    turns = []
    for program in ("bash -i", "python3", "sqlite3 x.db"):
        turns.append({"tool": "exec_command", "input": {"cmd": program, "tty": True, "yield_time_ms": 500}})
        turns.append({"tool": "write_stdin", "input": {"session_id": 1, "chars": "echo hi > typed.txt\n", "yield_time_ms": 500}})
    results = desk.turns(turns)
    assert not os.path.exists(desk.project + "/typed.txt"), results
    assert all("agrail" in results[place] for place in (0, 2, 4)), results


def doctor(desk):
    """Doctor says ok only where the host itself has asked."""
    says = desk.ran(desk.guard, "doctor", expect=None)
    assert f"ok   {desk.host}" not in says, says
    desk.install()
    says = desk.ran(desk.guard, "doctor", expect=None)
    assert f"ok   {desk.host}" in says and "it asked the guard" in says, says
    if desk.host == "codex":
        config = desk.home + "/.codex/config.toml"
        text = open(config, encoding="utf-8").read()
        with open(config, "w", encoding="utf-8") as file:
            file.write(text.replace("sha256:", "sha256:0"))
    else:
        os.makedirs(desk.project + "/.claude", exist_ok=True)
        with open(desk.project + "/.claude/settings.json", "w", encoding="utf-8") as file:
            file.write('{"disableAllHooks": true}')
    says = desk.ran(desk.guard, "doctor", expect=None)
    found = "did NOT ask the guard" if desk.host == "codex" else "switches hooks off"
    assert f"ok   {desk.host}" not in says and found in says, says
    if desk.host == "codex":
        desk.install()
        assert "it asked the guard" in desk.ran(desk.guard, "doctor", expect=None)
    else:
        os.remove(desk.project + "/.claude/settings.json")
    desk.install("--uninstall")
    says = desk.ran(desk.guard, "doctor", expect=None)
    assert f"ok   {desk.host}" not in says, says


def modes(desk):
    """Denies hold in every mode of the host, and an ask runs in none."""
    desk.install()
    for mode in ("default", "acceptEdits", "plan", "dontAsk", "bypassPermissions"):
        desk.turns([desk.call("rm -rf /etc/agrail-no-such; touch denied.txt"),
                    {"tool": "Write", "input": {"file_path": desk.project + "/.envrc", "content": "x"}}], mode=mode)
        assert not os.path.exists(desk.project + "/denied.txt") and not os.path.exists(desk.project + "/.envrc"), mode


BOTH = (deny_and_silence, asks_block, own_settings, broken_guard, doctor)
EACH = (deny_and_silence, asks_block, broken_guard)
SCENARIOS = {"codex": BOTH + (typed,), "claude-code": BOTH + (modes,), "gemini-cli": EACH, "qwen-code": EACH, "opencode": EACH,
             "copilot": EACH, "goose": EACH, "cline": (ends_the_task, broken_guard)}


def main():
    """Runs the scenarios; exit code 1 if one fails."""
    if len(sys.argv) < 3:
        raise SystemExit(__doc__)
    # others do not end there: OpenCode waits for ever after an error
    if set(sys.argv[3:]) <= {"codex", "claude-code"} and sys.argv[3:] and not apart.enter():
        print("note: no namespaces here; the scenarios run among the other files of this machine")
    agrail, hosts, names = os.path.abspath(sys.argv[1]), os.path.abspath(sys.argv[2]), sys.argv[3:]
    failed = passed = 0
    for host, scenarios in SCENARIOS.items():
        for scenario in scenarios:
            name = f"{host} {scenario.__name__}"
            if names and not any(part in name for part in names):
                continue
            try:
                with Desk(agrail, hosts, host) as desk:
                    scenario(desk)
                passed += 1
                print(f"ok    {name}", flush=True)
            except Exception as problem:  # each scenario by itself
                failed += 1
                print(f"FAIL  {name}: {type(problem).__name__} {str(problem)[:1500]}", flush=True)
    print(f"{passed} passed, {failed} failed")
    sys.exit(failed > 0)


if __name__ == "__main__":
    main()
