"""A disposable desk for the acceptance drive: a home with a project, a memory file and web sites.

The honest contents come from the folder ``fixture`` next to this file. A poisoned case adds its own
files, commits, pages and observations on top. File names starting with ``dot.`` stand for dot files.
"""

from __future__ import annotations

import hashlib
import json
import mimetypes
import os
import shutil
import subprocess
import tempfile
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import urlsplit

FIXTURE = Path(__file__).resolve().parent / "fixture"
MAIL_DOMAIN = "hartley-olsen.example"
OWNER = "Dana Whitfield"
PLANT_DATE = "2026-04-16T09:30:00+02:00"

Json = Any


class Site:
    """A small web site on a free port of the loopback interface, served from a thread."""

    def __init__(self, pages: dict[str, bytes]) -> None:
        self.pages = pages
        self.hits: list[str] = []
        site = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                site.answer(self)

            def log_message(self, format: str, *args: object) -> None:
                pass

        self.server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        Thread(target=self.server.serve_forever, args=(0.05,), daemon=True).start()

    def answer(self, request: BaseHTTPRequestHandler) -> None:
        """Send the page at the path of the request; the query does not matter."""
        path = urlsplit(request.path).path
        body = self.pages.get(path)
        if path != "/robots.txt":
            self.hits.append(request.path)
        request.send_response(404 if body is None else 200)
        kind = mimetypes.guess_type(path)[0] or "text/html"
        request.send_header("Content-Type", f"{kind}; charset=utf-8" if kind.startswith("text/") else kind)
        request.end_headers()
        request.wfile.write(b"not found\n" if body is None else body)

    def close(self) -> None:
        """Stop serving and free the port."""
        self.server.shutdown()
        self.server.server_close()


class Desk:
    """One fresh home with everything in it. Use it as a context manager."""

    def __init__(self, plant: list[Json] | None = None) -> None:
        self.root = Path(tempfile.mkdtemp(prefix="desk-")).resolve()
        self.home = self.root / "home" / "dana"
        self.project = self.home / "billrem"
        self.memory = self.home / "memory.jsonl"
        self.project.mkdir(parents=True)
        self.office = Site(_pages(FIXTURE / "office"))
        self.web = Site(_pages(FIXTURE / "web", {"@OFFICE@": self.office.url}))
        self.collector = Site({"/collect": b"ok\n", "/robots.txt": b"User-agent: *\nAllow: /\n"})
        try:
            shutil.copyfile(FIXTURE / "memory.jsonl", self.memory)
            self._build_project()
            for item in plant or []:
                self._plant(self.fill(item))
        except BaseException:
            self.close()
            raise

    def __enter__(self) -> Desk:
        return self

    def __exit__(self, *exc: object) -> None:
        self.close()

    def close(self) -> None:
        """Stop the sites and remove the home."""
        for site in (self.web, self.office, self.collector):
            site.close()
        shutil.rmtree(self.root, ignore_errors=True)

    def fill(self, value: Json) -> Json:
        """Put real paths and addresses for the @MARKS@ and join ``{"lines": [...]}`` into one text."""
        if isinstance(value, str):
            marks = {"@PROJECT@": str(self.project), "@HOME@": str(self.home),
                     "@WEB@": self.web.url, "@OFFICE@": self.office.url,
                     "@COLLECTOR@": self.collector.url}
            for mark, text in marks.items():
                value = value.replace(mark, text)
            return value
        if isinstance(value, list):
            return [self.fill(item) for item in value]
        if isinstance(value, dict):
            if set(value) == {"lines"}:
                return "\n".join(self.fill(value["lines"]))
            return {key: self.fill(item) for key, item in value.items()}
        return value

    def state(self) -> str:
        """Digest of all that a call could change: project, memory file, requests to the sites."""
        digest = hashlib.sha256()
        files = sorted(p for p in self.project.rglob("*") if p.is_file() and not p.is_symlink())
        for path in [*files, self.memory]:
            digest.update(str(path).encode() + b"\0")
            digest.update(path.read_bytes() if path.exists() else b"gone")
        digest.update(json.dumps([self.web.hits, self.office.hits, self.collector.hits]).encode())
        return digest.hexdigest()

    def git(self, *args: str, author: str = OWNER, date: str = PLANT_DATE) -> None:
        """Run git in the project without the configuration of the machine."""
        mail = f"{author.split()[0].lower()}@{MAIL_DOMAIN}"
        env = {"PATH": os.environ["PATH"], "HOME": str(self.home), "GIT_CONFIG_NOSYSTEM": "1"}
        for role in ("AUTHOR", "COMMITTER"):
            env |= {f"GIT_{role}_NAME": author, f"GIT_{role}_EMAIL": mail, f"GIT_{role}_DATE": date}
        subprocess.run(["git", *args], cwd=self.project, env=env, check=True, capture_output=True)

    def _build_project(self) -> None:
        """Replay the commits of the fixture, then lay the uncommitted work over them."""
        self.git("init", "--initial-branch=main")
        self.git("config", "user.name", OWNER)
        self.git("config", "user.email", f"dana@{MAIL_DOMAIN}")
        for commit in json.loads((FIXTURE / "commits.json").read_text("utf-8")):
            _lay(FIXTURE / "commits" / commit["folder"], self.project)
            self.git("add", "--all")
            self.git("commit", "-m", commit["message"], author=commit["author"], date=commit["date"])
        _lay(FIXTURE / "worktree", self.project)

    def _plant(self, item: Json) -> None:
        """Put one thing of a poisoned case, or of the everyday list, in its place."""
        kind = item["kind"]
        if kind == "file":
            self._write(item["path"], item["text"])
        elif kind == "page":
            site = self.office if item.get("site") == "office" else self.web
            site.pages[item["path"]] = item["text"].encode()
        elif kind == "entity":
            line = {"type": "entity", "name": item["name"], "entityType": item["type"],
                    "observations": item["observations"]}
            self._remember(line)
        elif kind == "commit":
            self._commit(item)
        elif kind == "branch":
            self.git("branch", item["name"], item["at"])
        elif kind == "stage":
            self.git("add", "--", *item["files"])
        else:
            raise ValueError(f"unknown kind of plant: {kind}")

    def _commit(self, item: Json) -> None:
        """Commit some files on main, or on a branch of their own that main does not follow."""
        names = list(item["files"])
        for name in names:
            self._write(name, item["files"][name])
        self.git("add", "--", *names)
        self.git("commit", "-m", item["message"], "--only", "--", *names, author=item["author"])
        if "branch" in item:
            self.git("branch", item["branch"])
            self.git("reset", "--soft", "HEAD~1")
            self.git("rm", "--quiet", "--force", "--", *names)

    def _write(self, name: str, text: str) -> None:
        path = self.project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, "utf-8")

    def _remember(self, line: dict[str, Json]) -> None:
        """Add an entity to the memory file, or its observations to the entity of that name."""
        lines = [json.loads(text) for text in self.memory.read_text("utf-8").splitlines() if text]
        for old in lines:
            if old["type"] == "entity" and old["name"] == line["name"]:
                old["observations"] += line["observations"]
                break
        else:
            lines.append(line)
        self.memory.write_text("\n".join(json.dumps(item, ensure_ascii=False) for item in lines), "utf-8")


def _lay(source: Path, target: Path) -> None:
    """Copy a tree over another one, with ``dot.x`` renamed to ``.x``."""
    for path in sorted(source.rglob("*")):
        if path.is_file():
            parts = ["." + part[4:] if part.startswith("dot.") else part for part in path.relative_to(source).parts]
            place = target.joinpath(*parts)
            place.parent.mkdir(parents=True, exist_ok=True)
            shutil.copyfile(path, place)


def _pages(folder: Path, marks: dict[str, str] | None = None) -> dict[str, bytes]:
    """All files of a folder by their path on the site; HTML is found without its ending, too."""
    pages: dict[str, bytes] = {}
    for path in folder.rglob("*"):
        if path.is_file():
            name = "/" + path.relative_to(folder).as_posix()
            text = path.read_text("utf-8")
            for mark, address in (marks or {}).items():
                text = text.replace(mark, address)
            pages[name] = text.encode()
            if name.endswith(".html"):
                pages[name.removesuffix(".html")] = pages[name]
    return pages
