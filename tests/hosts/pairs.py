#!/usr/bin/env python3
"""What a hook costs: pairs of `true` and the hook, each a process, one after the other.

    pairs.py AGRAIL-HOOK [--data DIR] [--foreign BYTES] [--alone] [--pairs N] [--first N]

AGRAIL-HOOK: the small program that hosts start. --data: a folder with a memory (`agrail/memory.db`) instead of an empty one.
--foreign: first the agent reads a page of so many bytes. --alone: no guard stays in memory. --first: instead, so many hooks at
once in a home where there was none before. Prints the difference in ms, 50th and 99th percentile, for three commands.
"""
import argparse
import concurrent.futures
import json
import os
import subprocess
import tempfile
import time

COMMANDS = ("ls -la src", "grep -rn TODO src | head", "rm /srv/data/77")
SENTENCE = "The report describes the bridges of the region and lists the repairs that the office has planned. "


def event(number, tool="Bash", name="PreToolUse", **more):
    """One event of Claude Code."""
    return json.dumps({"hook_event_name": name, "session_id": "pairs", "cwd": "/tmp", "tool_name": tool,
                       "tool_use_id": f"t{number}", **more}).encode()


def main():
    """Measures and prints."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("hook")
    parser.add_argument("--data")
    parser.add_argument("--foreign", type=int, default=0)
    parser.add_argument("--alone", action="store_true")
    parser.add_argument("--pairs", type=int, default=200)
    parser.add_argument("--first", type=int, default=0)
    args = parser.parse_args()
    home = tempfile.mkdtemp(prefix="agrail-pairs-")
    data = args.data or home
    env = {"HOME": home, "PATH": "/usr/bin:/bin", "USER": os.environ.get("USER", "root"), "XDG_DATA_HOME": data,
           "XDG_CACHE_HOME": os.environ.get("XDG_CACHE_HOME", os.path.expanduser("~/.cache"))}
    os.makedirs(home + "/.config/agrail")
    with open(home + "/.config/agrail/config.toml", "w", encoding="utf-8") as file:
        file.write(f"[hook]\ndaemon = {str(not args.alone).lower()}\n")
    time.sleep(0.2)

    def run(words, sent):
        began = time.perf_counter()
        done = subprocess.run(words, input=sent, env=env, capture_output=True, check=False)
        return (time.perf_counter() - began) * 1e3, done

    hook = [args.hook, "claude-code"]
    if args.first:
        with concurrent.futures.ThreadPoolExecutor(args.first) as pool:
            each = list(pool.map(lambda n: run(hook, event(n, tool_input={"command": "ls"}))[1].returncode, range(args.first)))
        return print(f"{args.first} first hooks at once: {sum(code != 0 for code in each)} blocked")
    run(hook, event(0, tool_input={"command": "ls"}))
    time.sleep(2)
    if args.foreign:
        page = {"tool": "WebFetch", "tool_input": {"url": "https://pages.example/"}}
        text = (SENTENCE * (args.foreign // len(SENTENCE) + 1))[:args.foreign]
        run(hook, event(1, name="UserPromptSubmit", prompt="summarize the page"))
        run(hook, event(2, **page))
        run(hook, event(2, name="PostToolUse", tool_response={"result": text}, **page))
        run(hook, event(3, tool_input={"command": "ls"}))
    for command in COMMANDS:
        more = []
        for number in range(args.pairs):
            sent = event(10 + number, tool_input={"command": command})
            more.append(-run(["true"], sent)[0] + run(hook, sent)[0])
        more.sort()
        print(f"{command:28} p50 {more[len(more) // 2]:5.1f} ms   p99 {more[int(len(more) * 0.99)]:5.1f} ms")
    return None


if __name__ == "__main__":
    main()
