"""FLOP/s that a device could reach, for the model FLOPs utilisation (MFU)."""

from __future__ import annotations

import time
from functools import cache

import torch

TERA = 1e12

# Dense peak FLOP/s (no sparsity) by a part of the device's name, in bf16 and in fp32 (TF32 off); NVIDIA's data sheets.
# The first part that occurs in the name counts.
_PEAKS: tuple[tuple[str, float, float], ...] = (
    ("GB200", 2500 * TERA, 80 * TERA),
    ("B200", 2250 * TERA, 75 * TERA),
    ("H200", 989 * TERA, 67 * TERA),
    ("H100 PCIe", 756 * TERA, 51 * TERA),
    ("H100 NVL", 835 * TERA, 60 * TERA),
    ("H100", 989 * TERA, 67 * TERA),
    ("GH200", 989 * TERA, 67 * TERA),
    ("L40S", 362 * TERA, 91.6 * TERA),
    ("L40", 181 * TERA, 90.5 * TERA),
    ("A100", 312 * TERA, 19.5 * TERA),
    ("A40", 149.7 * TERA, 37.4 * TERA),
    ("A10G", 70 * TERA, 31.5 * TERA),
    ("A10", 125 * TERA, 31.2 * TERA),
    ("L4", 121 * TERA, 30.3 * TERA),
    ("RTX 5090", 209.5 * TERA, 104.8 * TERA),
    ("RTX 4090", 165.2 * TERA, 82.6 * TERA),
    ("RTX 3090", 71 * TERA, 35.6 * TERA),
    ("RTX 6000 Ada", 364 * TERA, 91.1 * TERA),
    ("RTX A6000", 154.8 * TERA, 38.7 * TERA),
)


def known_peak(name: str, precision: str) -> float | None:
    """Peak dense FLOP/s of a GPU by its name; None: not in the table.

    Args:
        name: as ``torch.cuda.get_device_name`` gives it.
        precision: ``bf16`` or ``fp32``.
    """
    for part, bf16, fp32 in _PEAKS:
        if part in name:
            return bf16 if precision == "bf16" else fp32
    return None


def peak_flops(device: torch.device, precision: str) -> float:
    """FLOP/s that a device reaches at best: from the table, or measured by a short matrix product.

    Args:
        device: a GPU, or the CPU with as many threads as torch has.
        precision: ``bf16`` or ``fp32``.
    """
    known = known_peak(torch.cuda.get_device_name(device), precision) if device.type == "cuda" else None
    return known if known is not None else measured_peak(device, precision, torch.get_num_threads())


@cache
def measured_peak(device: torch.device, precision: str, threads: int) -> float:  # noqa: ARG001 - part of the key
    """FLOP/s of the best of some square matrix products, about a tenth of a second; remembered.

    Args:
        device: where.
        precision: ``bf16`` or ``fp32``.
        threads: torch's threads, which the result depends on.
    """
    size = 1024 if device.type == "cpu" else 8192
    dtype = torch.bfloat16 if precision == "bf16" else torch.float32
    with torch.no_grad():
        one = torch.ones(size, size, dtype=dtype, device=device)
        best, ends = torch.inf, time.perf_counter() + 0.1
        rounds = 0
        while rounds < 3 or time.perf_counter() < ends:
            began = time.perf_counter()
            product = one @ one
            if device.type == "cuda":
                torch.cuda.synchronize(device)
            best = min(best, time.perf_counter() - began)
            rounds += 1
            del product
    return 2 * size**3 / best
