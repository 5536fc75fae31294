"""Run the GPU benchmarks one after the other, each in a process of its own, and keep their tables together.

    make gpu-bench
    PYTHONPATH=platform python -m benchmarks.gpu [--parts attention,training] [--json gpu.json]

A part that fails does not stop the next ones: the last line names it, and the exit code is 1. On a CPU the sizes are
tiny, and show that everything runs. Needs torch, transformers and what cocite's training needs; a row that needs more,
such as DeepSpeed, says so where that is not installed.
"""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from importlib.util import find_spec
from pathlib import Path
from typing import Any

PARTS = ("attention", "cross_encoder", "training")
NEEDED = ("cocite", "numpy", "pydantic", "safetensors", "torch", "transformers")


def main(arguments: list[str] | None = None) -> int:
    missing = [name for name in NEEDED if find_spec(name) is None]
    if missing:
        hint = "install them, and run this in a checkout with PYTHONPATH=platform"
        print(f"benchmarks.gpu: there is no {', '.join(missing)} ({hint})", file=sys.stderr)
        return 2
    from benchmarks.gpu import bench
    from cocite.atomic_files import write_atomic

    parser = bench.parser(__doc__)
    parser.add_argument(
        "--parts", default=",".join(PARTS), help=f"which ones, of {', '.join(PARTS)}; all by default"
    )
    options = bench.parse(parser, arguments)
    parts = options.parts.split(",")
    for part in parts:
        if part not in PARTS:
            parser.error(f"--parts: there is no {part!r} (choose from {', '.join(PARTS)})")
    shared = ["--device", options.device, "--repeats", options.repeats]
    shared.append("--small" if options.small else "--no-small")
    result: dict[str, Any] = {"benchmark": "gpu", **bench.circumstances(options.device), "parts": {}}
    failures = []
    with tempfile.TemporaryDirectory() as folder:
        for part in parts:
            print(f"== {part}\n", flush=True)
            kept = Path(folder, f"{part}.json")
            command = [sys.executable, "-m", f"benchmarks.gpu.{part}", *map(str, shared), "--json", str(kept)]
            # In a process of its own a part has all the memory, and its end, however hard, is its own.
            code = subprocess.run(command).returncode
            result["parts"][part] = json.loads(kept.read_text()) if kept.is_file() else {}
            if code:
                result["parts"][part]["exit code"] = code
                failures.append(f"{part} (exit code {code})")
            if options.json is not None:  # after each part: one that never ends must not cost the others
                write_atomic(options.json, json.dumps(result, indent=1) + "\n")
            print(flush=True)
    print("failed: " + ", ".join(failures) if failures else "all parts ran")
    return int(bool(failures))


if __name__ == "__main__":
    sys.exit(main())
