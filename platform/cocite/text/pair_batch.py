"""Pairs of texts as packed tokens: the tokens of all pairs one after the other, without padding."""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor


@dataclass(frozen=True)
class PairBatch:
    """b pairs, T tokens in all.

    Attributes:
        ids: (T,) int64 tokens, the special ones of each pair included.
        types: (T,) int64 0 for the query, 1 for the candidate (where the model distinguishes them).
        offsets: (b + 1,) int64, pair i is ``ids[offsets[i] : offsets[i + 1]]``.
        longest: tokens of the longest pair.

    Example:
        >>> ids, types = torch.tensor([2, 7, 3, 2, 8, 9, 3]), torch.tensor([0, 0, 1, 0, 0, 1, 1])
        >>> batch = PairBatch(ids, types, offsets=torch.tensor([0, 3, 7]), longest=4)
        >>> batch.lengths.tolist(), batch.padded(0)[0].tolist()
        ([3, 4], [[2, 7, 3, 0], [2, 8, 9, 3]])
    """

    ids: Tensor
    types: Tensor
    offsets: Tensor
    longest: int

    def __len__(self) -> int:
        return len(self.offsets) - 1

    @property
    def lengths(self) -> Tensor:
        """(b,) tokens of each pair."""
        return self.offsets.diff()

    @property
    def pairs(self) -> Tensor:
        """(T,) the pair of each token."""
        return torch.repeat_interleave(self.lengths, output_size=len(self.ids))

    def to(self, device: torch.device | str, *, non_blocking: bool = False) -> PairBatch:
        """The same batch on another device."""
        ids, types, offsets = (
            tensor.to(device, non_blocking=non_blocking) for tensor in (self.ids, self.types, self.offsets)
        )
        return PairBatch(ids, types, offsets, self.longest)

    def padded(self, pad: int) -> tuple[Tensor, Tensor, Tensor]:
        """(b, longest) each: tokens, token types, and True where there is a token."""
        width = torch.arange(self.longest, device=self.ids.device)
        mask = width[None, :] < self.lengths[:, None]
        ids = self.ids.new_full(mask.shape, pad)
        types = self.types.new_zeros(mask.shape)
        ids[mask], types[mask] = self.ids, self.types
        return ids, types, mask
