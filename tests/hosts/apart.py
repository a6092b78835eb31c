"""Runs a test apart: in namespaces of its own, where each folder of the machine is a copy that is thrown away.

`enter()` starts the program again with its own mounts, processes and network, and returns there. What commands delete,
change or send there is gone at the end. Needs root (or user namespaces) and overlay mounts. `home()` is then an empty home
folder of the account, as its entry in /etc/passwd says.
"""
import fcntl
import os
import shutil
import socket
import struct
import subprocess
import sys

MARK = "AGRAIL_HOSTS_APART"
# what a copy makes no sense of, and /tmp, which holds the homes and projects of the scenarios
SHARED = {"proc", "sys", "dev", "run", "tmp"}
HOME = "/home/sam"
inside = False


def first():
    """Whether this is the first process of its namespace: elsewhere the mounts would be the machine's own."""
    return os.getpid() == 1


def enter():
    """Goes on apart; False if this machine does not let a program do so."""
    global inside
    if first() and os.environ.get(MARK):
        inside = True
        reaps()
        copies()
        loopback()
        lives(HOME)
        return True
    words = ["unshare", "--mount", "--net", "--pid", "--fork", "--mount-proc", "--kill-child"]
    if os.geteuid() != 0:
        words.append("--map-root-user")
    probe = words + [sys.executable, os.path.abspath(__file__)]
    if not shutil.which("unshare") or subprocess.run(probe, capture_output=True, check=False).returncode:
        return False
    done = subprocess.run(words + [sys.executable, *sys.argv], env={**os.environ, MARK: "1"}, check=False)
    sys.exit(done.returncode)


def reaps():
    """Goes on in a child: the first process of a namespace has to wait for all that are left behind."""
    child = os.fork()
    while child:
        done, status = os.wait()
        if done == child:
            os._exit(os.waitstatus_to_exitcode(status) & 0xff)


def home():
    """A new, empty home folder; None if the program does not run apart."""
    if not inside:
        return None
    shutil.rmtree(HOME, ignore_errors=True)
    os.makedirs(HOME)
    return HOME


def lives(folder):
    """Makes a folder the home of this account."""
    with open("/etc/passwd", encoding="utf-8") as file:
        lines = [line.split(":") for line in file]
    for fields in lines:
        if fields[2] == str(os.getuid()):
            fields[5] = folder
    with open("/etc/passwd", "w", encoding="utf-8") as file:
        file.write("".join(":".join(fields) for fields in lines))


def copies():
    """An overlay on each folder of the machine; its changes are kept in memory."""
    changes = "/tmp/agrail-apart"
    os.makedirs(changes, exist_ok=True)
    mounted("--make-rprivate", "/")
    mounted("-t", "tmpfs", "none", changes)
    for name in os.listdir("/"):
        folder = "/" + name
        if name in SHARED or os.path.islink(folder) or not os.path.isdir(folder):
            continue
        upper, work = f"{changes}/{name}/changed", f"{changes}/{name}/work"
        os.makedirs(upper)
        os.makedirs(work)
        mounted("-t", "overlay", "overlay", "-o", f"lowerdir={folder},upperdir={upper},workdir={work}", folder)


def mounted(*words):
    """One mount."""
    done = subprocess.run(["mount", *words], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"cannot mount {words}: {done.stderr.strip()}")


def loopback():
    """Switches the loopback device on; there is no other."""
    up = 0x41  # IFF_UP | IFF_RUNNING
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as any_socket:
        fcntl.ioctl(any_socket, 0x8914, struct.pack("16sh14x", b"lo", up))  # SIOCSIFFLAGS


if __name__ == "__main__":
    if not first():
        raise SystemExit(__doc__)
    # whether this machine lets a program run apart
    copies()
    loopback()
    lives(HOME)
