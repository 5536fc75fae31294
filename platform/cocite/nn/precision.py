"""The precision in which a model computes: the fastest on this machine, as measured, or one for all machines."""

from __future__ import annotations

import os
import time
from functools import cache, lru_cache

import torch
from torch.nn import functional

from cocite.errors import ConfigError
from cocite.nn.cpu_kernels import Precision, can_pack
from cocite.nn.variables import PRECISION

_NAMED = {"float32": torch.float32, "bfloat16": torch.bfloat16}
WORTH = 1.2
"""Factor by which bf16 must be faster to be chosen: near 1, its rounding would gain nothing."""
TRIALS = 15
"""Runs of each, of which the fastest counts: on a busy machine other processes slow the others down."""


def named_dtype() -> torch.dtype | None:
    """What ``COCITE_PRECISION`` names; None where the fastest is to be chosen.

    What is fastest differs between processors, and so does how it rounds: machines of several kinds give equal scores
    only where all compute in ``float32``.

    Raises:
        ConfigError: another word than ``auto``, ``float32`` and ``bfloat16``.
    """
    name = os.environ.get(PRECISION) or "auto"
    if name != "auto" and name not in _NAMED:
        raise ConfigError(
            f"{PRECISION} is {name!r}, which is no precision", hint=f"set it to auto, {', '.join(_NAMED)}"
        )
    return _NAMED.get(name)


def inference_dtype(device: str | torch.device = "cpu") -> torch.dtype:
    """What ``COCITE_PRECISION`` names, else ``torch.bfloat16`` where products are clearly faster in it than in fp32.

    On a CPU that depends on its instructions, so both are timed, once for each number of threads. The measurement takes
    some hundredths of a second.

    Raises:
        ConfigError: as :func:`named_dtype`.
    """
    if named := named_dtype():
        return named
    if torch.device(device).type == "cuda":
        return torch.bfloat16 if torch.cuda.is_bf16_supported() else torch.float32
    return torch.bfloat16 if _speed_up(torch.get_num_threads()) > WORTH else torch.float32


def training_precision(asked: Precision, device: torch.device) -> Precision:
    """What a training computes in that asks for bf16: fp32 on a CPU without instructions for bf16.

    There a product in bf16 takes as long as 7 in fp32, and its gradient as long as 25 (two cores of an AMD EPYC with
    AVX2). It is not timed: a training that is resumed on the same machine must compute as before. On a CPU
    ``COCITE_PRECISION`` overrules the instructions.

    Args:
        asked: the recipe's ``training.precision``.
        device: where it trains.

    Raises:
        ConfigError: as :func:`named_dtype`.

    Example:
        >>> training_precision("fp32", torch.device("cpu")), training_precision("bf16", torch.device("cuda"))
        ('fp32', 'bf16')
    """
    if asked == "fp32" or device.type != "cpu":
        return asked
    named = named_dtype()
    has_bf16 = named is torch.bfloat16 if named else multiplies_bf16()
    return "bf16" if has_bf16 else "fp32"


@cache
def multiplies_bf16() -> bool:
    """Whether this machine's CPU has instructions that multiply bf16."""
    capabilities = getattr(torch.cpu, "get_capabilities", None)
    if capabilities is None:  # an older torch, which tells of AVX-512 at least
        return can_pack(torch.bfloat16)
    return any(has for name, has in capabilities().items() if "bf16" in name)


@lru_cache(maxsize=8)
def _speed_up(threads: int) -> float:  # noqa: ARG001  (the cache's key)
    """Seconds of a linear layer in fp32 divided by those in bf16."""
    return _seconds(torch.float32) / _seconds(torch.bfloat16)


@torch.inference_mode()
def _seconds(dtype: torch.dtype) -> float:
    """The least seconds that a layer of a small encoder takes for 128 tokens."""
    tokens, weight = torch.ones(128, 384, dtype=dtype), torch.ones(1536, 384, dtype=dtype)
    functional.linear(tokens, weight)
    least = float("inf")
    for _ in range(TRIALS):
        start = time.perf_counter()
        functional.linear(tokens, weight)
        least = min(least, time.perf_counter() - start)
    return least
