"""What ``cocite plan`` computes from: an extract of the results of ``benchmarks.scale``."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any


def write_figures(lines: list[dict[str, Any]], path: Path) -> None:
    """Write the indexes that were opened and asked in both ways; where the build was not measured, without its cost."""
    by_index: dict[tuple[int, int], dict[str, dict[str, Any]]] = {}
    for line in lines:
        if line["step"].startswith("cocite ") and "failed" not in line:
            by_index.setdefault((line["papers"], line["shards"]), {})[line["step"]] = line
    wanted = {"cocite open", "cocite local", "cocite global"}
    found = [figures(steps) for _, steps in sorted(by_index.items()) if wanted <= steps.keys()]
    path.write_text(json.dumps({"indexes": found}, indent=1) + "\n")


def figures(steps: dict[str, dict[str, Any]]) -> dict[str, Any]:
    """One index."""
    opened, build = steps["cocite open"], steps.get("cocite build")
    said = opened["says"]
    return {
        **said["counts"],
        "bytes": said["bytes"],
        "before": 1e6 * said["before"]["anonymous_mb"],
        "with_words": 1e6 * said["vocabularies"]["anonymous_mb"],
        "with_contexts": 1e6 * said["contexts"]["anonymous_mb"],
        "opened": 1e6 * said["open"]["anonymous_mb"],
        "cpu_ms": {
            kind: {
                step: times["p50"] for step, times in steps[f"cocite {kind}"]["says"]["steps_cpu_ms"].items()
            }
            for kind in ("local", "global")
        },
        "build_cpu_s": build["cpu_s"] if build else None,
        "build_memory": 1e6 * build["anonymous_mb"] if build else None,
        "command": f"python -m benchmarks.scale --papers {opened['papers']} --shards {opened['shards']}",
        "date": opened["date"][:10],
        "cpu": opened["cpu"],
    }
