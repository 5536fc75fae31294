"""Draws ``scale.svg``, the picture of docs/scaling.md, from the results of ``python -m benchmarks.scale``.

    python docs/images/scale.py [RESULTS]

Build time, memory and latency against papers, cocite beside the engines that indexed the same papers in the same run.
Times are of the CPU, which other processes of the machine disturb least.
"""

from __future__ import annotations

import json
import sys
from collections import defaultdict
from pathlib import Path

import matplotlib

matplotlib.use("svg")
import matplotlib.pyplot as plt

HERE = Path(__file__).resolve().parent
RESULTS = HERE.parent.parent / "benchmarks" / "results" / "scale.jsonl"
STYLES = {
    "cocite, 1 shard": ("#1f5fa8", "o", "-"),
    "cocite, 4 shards": ("#1f5fa8", "s", "--"),
    "cocite, 16 shards": ("#1f5fa8", "^", ":"),
    "tantivy": ("#c2571a", "D", "-"),
    "FAISS IVF": ("#3a7d44", "v", "-"),
}
NAMES = {"tantivy": "tantivy", "faiss": "FAISS IVF"}
PANELS = (
    ("build", "seconds of the CPU", "Build", lambda line: line["cpu_s"]),
    (
        "build",
        "GB written by the process, at most",
        "Memory of the build",
        lambda line: line["anonymous_mb"] / 1e3,
    ),
    (
        "global",
        "GB, at most",
        "Memory while asked",
        lambda line: (line["anonymous_mb"] + line["mapped_mb"]) / 1e3,
    ),
    ("local", "milliseconds of the CPU, median", "A gap", lambda line: line["says"]["cpu_ms"]["p50"]),
    (
        "global",
        "milliseconds of the CPU, median",
        "Title and abstract",
        lambda line: line["says"]["cpu_ms"]["p50"],
    ),
)
"""The step, the axis, the title and the value of each panel."""


def series(lines: list[dict], step: str, value) -> dict[str, list[tuple[int, float]]]:
    """(papers, value) of each engine, ascending."""
    found: dict[str, dict[int, float]] = defaultdict(dict)
    for line in lines:
        engine, _, of = line["step"].partition(" ")
        if of != step or "failed" in line:
            continue
        shards = f"{line['shards']} shard{'s' * (line['shards'] > 1)}"
        found[NAMES.get(engine, f"cocite, {shards}")][line["papers"]] = value(line)
    return {name: sorted(points.items()) for name, points in found.items()}


def plain(value: float, _: int) -> str:
    """A number without powers of ten."""
    return f"{value:,.0f}" if value >= 10 else f"{value:g}"


def draw(lines: list[dict], path: Path) -> None:
    """Draw all panels, both axes of each logarithmic."""
    matplotlib.rcParams.update({"svg.hashsalt": "cocite", "svg.fonttype": "none", "font.size": 9})
    figure, axes = plt.subplots(2, 3, figsize=(10.5, 6.4), layout="constrained")
    for axis, (step, unit, title, value) in zip(axes.flat, PANELS, strict=False):
        for name, points in sorted(
            series(lines, step, value).items(), key=lambda item: list(STYLES).index(item[0])
        ):
            color, marker, line = STYLES[name]
            axis.plot(
                *zip(*points, strict=True),
                color=color,
                marker=marker,
                linestyle=line,
                label=name,
                markersize=5,
            )
        axis.set(xscale="log", yscale="log", title=title, xlabel="papers", ylabel=unit)
        axis.yaxis.set_major_formatter(plain)
        axis.yaxis.set_minor_formatter(lambda value, _: plain(value, _) if f"{value:e}"[0] in "25" else "")
        axis.grid(which="both", color="#e3e7eb", linewidth=0.6)
        axis.spines[["top", "right"]].set_visible(False)
    last = axes.flat[-1]
    last.axis("off")
    handles, labels = axes.flat[0].get_legend_handles_labels()
    last.legend(handles, labels, loc="center left", frameon=False, fontsize=10)
    last.set_title("100 candidates with all signals;\nthe peers: their 1,000 best", fontsize=9, loc="left")
    figure.savefig(path, metadata={"Date": None})


def main() -> None:
    """Draw the picture of the results that the command line names."""
    source = Path(sys.argv[1]) if len(sys.argv) > 1 else RESULTS
    draw([json.loads(line) for line in source.read_text().splitlines()], HERE / "scale.svg")


if __name__ == "__main__":
    main()
