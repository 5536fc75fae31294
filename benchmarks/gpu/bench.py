"""The parts that the GPU benchmarks share: the device, its limit, timing, and how a result is kept."""

from __future__ import annotations

import argparse
import json
import platform
import statistics
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from cocite.training.engine.flops import known_peak, measured_peak


def parser(description: str | None) -> argparse.ArgumentParser:
    """The options that all of them have."""
    result = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    result.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    result.add_argument("--repeats", type=int, default=10)
    result.add_argument(
        "--small", action="store_true", help="a tiny model and few pairs: does it run at all?"
    )
    result.add_argument("--json", type=Path, help="file to write the result to")
    return result


def limits(device: torch.device) -> dict[str, float]:
    """bf16 FLOP/s of the device: what its data sheet says (where known), and what a large matrix product reaches."""
    found = {"measured": measured_peak(device, "bf16", torch.get_num_threads())}
    known = known_peak(torch.cuda.get_device_name(device), "bf16") if device.type == "cuda" else None
    return {"sheet": known, **found} if known else found


def seconds(work: Callable[[], object], device: torch.device, repeats: int) -> float:
    """Median time of a call, after two that are not counted."""

    def wait() -> None:
        if device.type == "cuda":
            torch.cuda.synchronize(device)

    times = []
    for repeat in range(repeats + 2):
        wait()
        began = time.perf_counter()
        work()
        wait()
        if repeat >= 2:
            times.append(time.perf_counter() - began)
    return statistics.median(times)


def real_lengths(count: int, longest: int, rng: np.random.Generator) -> NDArray[np.int64]:
    """Token counts like those of the ACL corpus' local pairs: log-normal, median 395 of 512, log deviation 0.2."""
    lengths = longest / 512 * rng.lognormal(np.log(395), 0.2, count)
    return np.clip(lengths, 16, longest).astype(np.int64)


def shares(flops: float, seconds_: float, limit: dict[str, float]) -> dict[str, float]:
    """TFLOP/s reached, and its share of each limit."""
    reached = flops / seconds_
    return {"TFLOP/s": reached / 1e12, **{f"of {name} limit": reached / most for name, most in limit.items()}}


def keep(
    name: str, device: torch.device, rows: list[dict[str, Any]], path: Path | None, **facts: Any
) -> None:
    """Print a table, and write it with device and date if told so."""
    columns = list(dict.fromkeys(column for row in rows for column in row))
    print(f"{name} on {device_name(device)}, torch {torch.__version__}\n")
    for key, value in facts.items():
        print(f"{key}: {value}")
    print("\n| " + " | ".join(columns) + " |\n|" + " --- |" * len(columns))
    for row in rows:
        print("| " + " | ".join(_shown(row.get(column, "")) for column in columns) + " |")
    if path is not None:
        result = {
            "benchmark": name,
            "date": datetime.now(UTC).date().isoformat(),
            "device": device_name(device),
            "torch": torch.__version__,
            **facts,
            "rows": rows,
        }
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(result, indent=1) + "\n")


def device_name(device: torch.device) -> str:
    """The GPU's name, or the processor's."""
    return torch.cuda.get_device_name(device) if device.type == "cuda" else platform.processor() or "a CPU"


def _shown(value: Any) -> str:
    return f"{value:.4g}" if isinstance(value, float) else str(value)
