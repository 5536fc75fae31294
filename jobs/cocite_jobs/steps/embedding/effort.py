"""What encoding papers took: tokens, operations, seconds, and what the device could have done meanwhile."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, fields
from typing import Any

import torch

from cocite.protocols import Embedding, Encoder
from cocite_jobs.steps.embedding.peak import device_peak


@dataclass(frozen=True)
class Effort:
    """What a block, or all blocks of an encoder, took.

    Attributes:
        papers: encoded.
        tokens: read, without padding; 0: the encoder does not count them.
        flops: operations of the layers, without padding.
        seconds: that workers were encoding, added up.
        cpu_seconds: of all their threads.
        possible: operations that the device could have done: of a CPU in these CPU seconds, of a GPU in these seconds;
            None: what it could do is not known.
        precision: in which it computed.

    Example:
        >>> one = Effort(512, 60_000, 1e12, 10.0, 20.0, 4e12, "float32")
        >>> both = Effort.total([one, one])
        >>> both.papers, both.mfu
        (1024, 0.25)
    """

    papers: int
    tokens: int
    flops: float
    seconds: float
    cpu_seconds: float
    possible: float | None
    precision: str

    @classmethod
    def of(cls, encoder: Encoder, made: Embedding, *, seconds: float, cpu_seconds: float) -> Effort:
        """What one block took.

        Args:
            encoder: that computed it.
            made: the vectors, with their counts.
            seconds: wall time of encoding, tokenization included.
            cpu_seconds: of all threads of this process meanwhile.
        """
        dtype = getattr(encoder, "dtype", torch.float32)
        peak = device_peak(dtype)
        on_gpu = getattr(getattr(encoder, "device", None), "type", "cpu") == "cuda"
        # Of a machine with a GPU, an encoder that computes on the CPU cannot be compared with the GPU.
        known = peak is not None and on_gpu == torch.cuda.is_available()
        busy = seconds if on_gpu else cpu_seconds
        return cls(
            papers=len(made.vectors),
            tokens=made.tokens,
            flops=made.flops,
            seconds=seconds,
            cpu_seconds=cpu_seconds,
            possible=peak * busy if peak is not None and known else None,
            precision=str(dtype).removeprefix("torch."),
        )

    @classmethod
    def read(cls, result: Mapping[str, Any]) -> Effort:
        """What the record of a block says it took."""
        return cls(**{part.name: result[part.name] for part in fields(cls)})

    @classmethod
    def total(cls, parts: Iterable[Effort]) -> Effort:
        """What all of some parts took."""
        parts = list(parts)
        possible = [part.possible for part in parts if part.possible is not None]
        return cls(
            papers=sum(part.papers for part in parts),
            tokens=sum(part.tokens for part in parts),
            flops=sum(part.flops for part in parts),
            seconds=sum(part.seconds for part in parts),
            cpu_seconds=sum(part.cpu_seconds for part in parts),
            possible=sum(possible) if len(possible) == len(parts) and parts else None,
            precision=", ".join(sorted({part.precision for part in parts})),
        )

    @property
    def mfu(self) -> float | None:
        """Model FLOPs utilisation, a share of 1; None where the device's peak or the operations are not known."""
        return self.flops / self.possible if self.possible and self.flops else None
