"""Observes the rows of all programs that Debian packages.

1. Finds the package of each name in `commands/` (the archive's list of contents).
2. Installs these packages into a root made by debootstrap, without starting services. A package that cannot be installed
   is left out, with a message.
3. Runs `xtask rows lint` and `xtask rows observe` in that root. Reports: target/rows/lint.txt, observe.txt.

`--record` also enters the versions and observations into the rows. Needs root, Linux, 20 GB; takes an hour or two.
"""

import collections
import gzip
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tomllib
import urllib.request

SUITE = "bookworm"
MIRROR = "http://deb.debian.org/debian"
HERE = pathlib.Path(__file__).resolve().parent.parent
WORK = HERE / "target" / "rows"
ROOT = WORK / "root"
# packages that break the installation of others
BROKEN = ("texlive", "libreoffice", "linux-image", "wine", "emboss", "jemboss", "bless", "mono", "netbeans")
BATCH = 60
QUIET = ["env", "DEBIAN_FRONTEND=noninteractive", "LC_ALL=C.UTF-8"]


def names():
    """The names of all programs in the table."""
    found = set()
    for file in (HERE / "commands").glob("?/*.toml"):
        name = tomllib.loads(file.read_text())["name"]
        found.update([name] if isinstance(name, str) else name)
    return found


def packages(programs):
    """The package that provides each program; one of its own name first, then the one with most of the programs."""
    providers = collections.defaultdict(set)
    for architecture in ("amd64", "all"):
        url = f"{MIRROR}/dists/{SUITE}/main/Contents-{architecture}.gz"
        with urllib.request.urlopen(url) as answer, gzip.open(answer, "rt", errors="replace") as lines:
            for line in lines:
                path, _, owners = line.rstrip().rpartition(" ")
                program = re.fullmatch(r"(?:usr/)?(?:s?bin|games)/([^/]+)", path.strip())
                if program and program[1] in programs:
                    providers[program[1]].update(owner.split("/")[-1] for owner in owners.split(","))
    count = collections.Counter(package for owners in providers.values() for package in owners)
    chosen = {
        min(owners, key=lambda package: (package != program, -count[package], len(package), package))
        for program, owners in providers.items()
    }
    return sorted(package for package in chosen if not package.startswith(BROKEN))


def inside(*command, check=False):
    """Runs a command in the root. Some packages replace the settings of the resolver."""
    resolver = ROOT / "etc/resolv.conf"
    resolver.unlink(missing_ok=True)
    shutil.copy("/etc/resolv.conf", resolver)
    return subprocess.run(
        ["chroot", ROOT, *QUIET, *command], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT, text=True, errors="replace", check=check,
    )


def install(wanted):
    """Installs packages; of a set that cannot be installed, its halves."""
    done = inside("apt-get", "install", "-y", "-qq", "--no-install-recommends", *wanted)
    if done.returncode == 0:
        return
    mend()
    if len(wanted) == 1:
        print(f"left out: {wanted[0]}: {done.stdout.strip().splitlines()[-1:]}", flush=True)
        return
    half = len(wanted) // 2
    install(wanted[:half])
    install(wanted[half:])


def mend():
    """Removes packages that are not fully installed."""
    inside("dpkg", "--configure", "-a")
    states = inside("dpkg-query", "-W", "-f", "${db:Status-Abbrev} ${Package}\\n").stdout
    broken = [line.split()[-1] for line in states.splitlines() if line[:2] not in ("ii", "rc", "un")]
    if broken:
        inside("dpkg", "--purge", "--force-all", *broken)
    inside("apt-get", "-f", "install", "-y", "-qq", "--no-install-recommends")


def make_root(wanted):
    """Makes the root, unless an earlier run did, and installs the packages."""
    if not (ROOT / "etc/debian_version").exists():
        shutil.rmtree(ROOT, ignore_errors=True)
        include = "--include=ca-certificates,strace,man-db,fish-common,git,openssl,python3"
        subprocess.run(["debootstrap", "--variant=minbase", include, SUITE, ROOT, MIRROR], check=True)
    for kind, place in (("proc", "proc"), ("devtmpfs", "dev")):
        subprocess.run(["mount", "-t", kind, kind, ROOT / place], check=True)
    (ROOT / "usr/sbin/policy-rc.d").write_text("#!/bin/sh\nexit 101\n")
    (ROOT / "usr/sbin/policy-rc.d").chmod(0o755)
    for settings in pathlib.Path("/etc/apt/apt.conf.d").glob("*proxy*"):
        shutil.copy(settings, ROOT / "etc/apt/apt.conf.d")
    (ROOT / "etc/dpkg/dpkg.cfg.d/fast").write_text("force-unsafe-io\npath-exclude=/usr/share/doc/*\n")
    inside("apt-get", "update", "-qq", check=True)
    for start in range(0, len(wanted), BATCH):
        install(wanted[start:start + BATCH])
        inside("apt-get", "clean")
        print(f"{min(start + BATCH, len(wanted))} of {len(wanted)} packages", flush=True)


def observe(record):
    """Runs the program in the root, which has to be the root of a mount namespace."""
    program = HERE / "target/release/xtask"
    mount = ROOT.as_posix() + HERE.as_posix()
    os.makedirs(mount, exist_ok=True)
    rows = f"{program} rows"
    record = "--record" if record else ""
    steps = [
        f"mount --bind {ROOT} {ROOT}",
        f"mount --bind {HERE} {mount}",
        f"cd {ROOT}",
        "mkdir -p old",
        "mountpoint -q proc || mount -t proc proc proc",
        "mountpoint -q dev || mount --rbind /dev dev",
        "pivot_root . old",
        "umount -l /old",
        "cd /",
        f"{rows} lint --man /usr/share/man {record} >{WORK}/lint.txt",
        f"tail -n 1 {WORK}/lint.txt",
        f"{rows} observe {record} >{WORK}/observe.txt",
        f"tail -n 14 {WORK}/observe.txt",
    ]
    subprocess.run(["unshare", "--mount", "bash", "-ec", "\n".join(steps)], check=True)


def main():
    if "unshared" not in sys.argv:
        # mounts of the root end with this process
        os.execvp("unshare", ["unshare", "--mount", sys.executable, __file__, "unshared", *sys.argv[1:]])
    WORK.mkdir(parents=True, exist_ok=True)
    if not shutil.which("debootstrap"):
        subprocess.run(["apt-get", "update", "-qq"], check=True)
        subprocess.run(["apt-get", "install", "-y", "-qq", "debootstrap"], check=True)
    subprocess.run(["cargo", "build", "--release", "--package", "xtask"], cwd=HERE, check=True)
    make_root(packages(names()))
    observe("--record" in sys.argv)


if __name__ == "__main__":
    main()
