"""Freed memory stays with the process, so that taking it again faults no page."""

from __future__ import annotations

import subprocess
import sys

import pytest

SCRIPT = """
import resource, sys
import numpy as np
from cocite.training.engine.memory import keep_freed_memory

def faults(rounds):
    before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
    for _ in range(rounds):
        np.ones(1 << 20)  # 8 MiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before

told = keep_freed_memory()
faults(2)
print(told, faults(20))
"""


PIECES = """
import re
import numpy as np
from cocite.training.engine.memory import return_freed_memory, keep_freed_memory

def resident():
    return int(re.search(r"VmRSS:\\s+(\\d+)", open("/proc/self/status").read())[1])

keep_freed_memory()
pieces = [np.ones(1 << 17) for _ in range(200)]  # 1 MiB each
ring = [pieces]
ring.append(ring)
del pieces, ring
before = resident()
print(return_freed_memory(), before - resident())
"""


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's setting")
def test_memory_that_was_kept_is_handed_back_at_the_end() -> None:
    done = subprocess.run([sys.executable, "-c", PIECES], capture_output=True, text=True, check=True)
    told, kibibytes = done.stdout.split()
    assert told == "True"
    assert int(kibibytes) > 150 << 10


@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="glibc's setting")
def test_memory_taken_again_faults_no_page() -> None:
    done = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True)
    told, faults = done.stdout.split()
    assert told == "True"
    assert int(faults) < 2048  # handed back, twenty times eight mebibytes are 40,960 pages
