"""Word vectors that are read twice: to embed tokens, and to tell them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from cocite.nn.packed_attention import wide

CELLS = 1 << 23
"""Logits that are in memory at a time: of 512 tokens and 16,000 words, about what a CPU's caches hold."""


class Words(nn.Embedding):
    """Word vectors that are read to embed tokens, and read again to tell them (tied weights).

    Args:
        count: words.
        hidden: d.
        std: of the vectors to begin with.
    """

    def __init__(self, count: int, hidden: int, std: float) -> None:
        super().__init__(count, hidden)
        nn.init.normal_(self.weight, std=std)

    @torch.no_grad()
    def start(self, vectors: Tensor) -> None:
        """Become half of given vectors (V, d) of norm 1, at the size of one's own, and half of one's own; a word whose
        given vector is 0 stays."""
        size = self.weight.norm(dim=1).mean()
        half = (self.weight + size * vectors) / 2**0.5
        self.weight.copy_(torch.where(vectors.any(1, keepdim=True), half, self.weight))

    @torch.no_grad()
    def weigh(self, weights: Tensor) -> None:
        """Be multiplied by weights (V,)."""
        self.weight.mul_(weights[:, None])

    def forward(self, input: Tensor, states: Tensor | None = None) -> Any:
        """(T, d) vectors of tokens; with states, what it costs to tell the tokens from them.

        Both go through the module's call, for ZeRO 3 gathers its weights there.

        Args:
            input: (T,) tokens.
            states: (T, d) from which they are told.

        Returns:
            with states: (T,) cross-entropies, and (T,) bool, whether the token is the likeliest (all false where
            gradients are asked for: nobody looks).
        """
        if states is None:
            return super().forward(input)
        device, look = states.device.type, not torch.is_grad_enabled()
        half = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        return _Telling.apply(states.to(half), self.weight, input, look)  # type: ignore[no-untyped-call]


class _Telling(torch.autograd.Function):
    """Softmax over all words, some tokens at a time: the (T, V) logits are never whole in memory.

    The backward pass computes them again. That is a fourth matrix product beside three, where storing and fetching the
    logits of a large vocabulary would take longer.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, answers: Tensor, look: bool
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`Words.forward`."""
        words = weight.to(states.dtype)
        losses = states.new_empty(len(states), dtype=wide(states.dtype))
        right = torch.zeros(len(states), dtype=torch.bool, device=states.device)
        norms = torch.empty_like(losses)
        for part in _parts(len(states), len(weight)):
            logits = (states[part] @ words.T).to(losses.dtype)
            norms[part] = logits.logsumexp(1)
            losses[part] = norms[part] - logits.gather(1, answers[part, None])[:, 0]
            if look:
                right[part] = logits.argmax(1) == answers[part]
        ctx.save_for_backward(states, weight, answers, norms)
        ctx.mark_non_differentiable(right)
        return losses, right

    @staticmethod
    def backward(ctx: Any, *slopes: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients at states and words."""
        states, weight, answers, norms = ctx.saved_tensors
        slope = slopes[0]
        words = weight.to(states.dtype)
        at_states, at_weight = torch.empty_like(states), torch.zeros_like(weight)
        for part in _parts(len(states), len(weight)):
            shares = (states[part] @ words.T).to(norms.dtype)
            shares.sub_(norms[part, None]).exp_()
            shares.scatter_add_(1, answers[part, None], -torch.ones_like(norms[part, None]))
            at_logits = shares.mul_(slope[part, None]).to(states.dtype)
            at_states[part] = at_logits @ words
            at_weight += at_logits.T @ states[part]
        return at_states, at_weight, None, None


def _parts(tokens: int, words: int) -> list[slice]:
    step = max(1, CELLS // words)
    return [slice(start, start + step) for start in range(0, tokens, step)]
