"""Random pairs for models whose vocabulary is numbers."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import torch

from cocite.text.pair_batch import PairBatch


def random_batch(lengths: Sequence[int], vocabulary: int = 80, seed: int = 0) -> PairBatch:
    """Pairs of some lengths; the second half of each is the candidate."""
    rng = np.random.default_rng(seed)
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    within = np.arange(offsets[-1]) - np.repeat(offsets[:-1], lengths)
    return PairBatch(
        torch.from_numpy(rng.integers(5, vocabulary, offsets[-1])),
        torch.from_numpy((within >= np.repeat(lengths, lengths) // 2).astype(np.int64)),
        torch.from_numpy(offsets),
        max(lengths, default=0),
    )
