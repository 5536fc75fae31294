"""The first process of a machine of :mod:`helpers.machines`: it hides this machine's files, and waits to be ended.

It runs in mount and process namespaces of its own, so that nothing it mounts is seen elsewhere, and all processes of
the machine end with it. It imports nothing but the standard library.
"""

from __future__ import annotations

import fcntl
import json
import os
import signal
import socket
import struct
import subprocess
import sys
from pathlib import Path

HIDDEN = ("/tmp", "/var/tmp", "/dev/shm", "/run")
"""Folders that programs write to, besides the user's own: each machine has empty ones."""
NO_FILES = ("proc", "sysfs", "cgroup", "cgroup2", "devpts", "devtmpfs", "mqueue")
"""Types of file systems that hold no files of a user's."""
SIOCSIFFLAGS, IFF_UP_RUNNING = 0x8914, 0x41


def hide_files(kept: list[str], written: list[str]) -> None:
    """Give this namespace empty temporary and home folders, and make the rest of the file system read-only.

    Args:
        kept: folders of code, which stay where they are, read-only.
        written: folders that stay where they are and may be written: what this machine shares with the tests.
    """
    folders = {folder: os.open(folder, os.O_PATH) for folder in (*kept, *written)}
    for line in Path("/proc/self/mountinfo").read_text().splitlines():
        place, kind = line.split()[4], line.partition(" - ")[2].split()[0]
        if kind not in NO_FILES and not place.startswith(("/proc", "/sys", "/dev")):
            mount("-o", "remount,bind,ro", place)
    hidden = [*HIDDEN, str(Path.home())]
    for place in filter(os.path.isdir, hidden):
        mount("-t", "tmpfs", "-o", "mode=1777", "tmpfs", place)
    for folder, descriptor in folders.items():
        if any(Path(folder).is_relative_to(place) for place in hidden):
            Path(folder).mkdir(parents=True, exist_ok=True)
        elif folder in kept:
            continue
        # By its descriptor: its path leads into the new empty folder.
        mount("--no-canonicalize", "--bind", f"/proc/{os.getpid()}/fd/{descriptor}", folder)
        mount("-o", f"remount,bind,{'rw' if folder in written else 'ro'}", folder)
        os.close(descriptor)


def mount(*arguments: str) -> None:
    done = subprocess.run(["mount", *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(done.stderr.strip() or f"mount ended with {done.returncode}")


def bring_up_loopback() -> None:
    """A new network namespace has a loopback interface that is down."""
    with socket.socket() as any_socket:
        request = struct.pack("16sh14x", b"lo", IFF_UP_RUNNING)
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, request)


if __name__ == "__main__":
    settings = json.loads(sys.argv[1])
    if settings["network"]:
        bring_up_loopback()
    else:
        hide_files(settings["kept"], settings["written"])
        # Daemons become children of this process, the namespace's first: the system is to reap them.
        signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()  # until the test ends, however it ends
