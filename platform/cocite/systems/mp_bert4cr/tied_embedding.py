"""Word vectors that are used twice: to embed tokens, and to predict them."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from cocite.nn.packed_attention import accumulation_dtype

CELLS = 1 << 23
"""Logits that are in memory at a time: of 512 tokens and 16,000 words, about what a CPU's caches hold."""


class TiedEmbedding(nn.Embedding):
    """Word vectors that embed tokens, and from which the softmax over all words predicts tokens (tied weights).

    Args:
        count: V, words.
        hidden: d.
        std: standard deviation of the initial vectors.

    Example:
        >>> _ = torch.manual_seed(0)
        >>> words = TiedEmbedding(count=50, hidden=64, std=1.0)
        >>> tokens = torch.tensor([3, 7])
        >>> with torch.no_grad():
        ...     losses, correct = words(tokens, 5 * words(tokens))  # predicted from their own vectors
        >>> correct
        tensor([True, True])
    """

    def __init__(self, count: int, hidden: int, std: float) -> None:
        super().__init__(count, hidden)
        nn.init.normal_(self.weight, std=std)

    @torch.no_grad()
    def mix_in(self, vectors: Tensor) -> None:
        """Replace the vectors by means of themselves and of given unit vectors (V, d), scaled to their own size.

        The sum is divided by the root of 2, which keeps the norms. A word whose given vector is 0 is not changed.
        """
        size = self.weight.norm(dim=1).mean()
        mixed = (self.weight + size * vectors) / 2**0.5
        self.weight.copy_(torch.where(vectors.any(1, keepdim=True), mixed, self.weight))

    @torch.no_grad()
    def scale(self, weights: Tensor) -> None:
        """Multiply the vectors by weights (V,)."""
        self.weight.mul_(weights[:, None])

    def forward(self, input: Tensor, states: Tensor | None = None) -> Any:
        """(T, d) vectors of tokens; or, with states, the loss of predicting the tokens from them.

        Both go through the module's call because ZeRO-3 gathers a module's weights there.

        Args:
            input: (T,) tokens.
            states: (T, d) from which the tokens are predicted.

        Returns:
            With states: (T,) cross-entropies, and (T,) bool, whether the token is the most probable (all false where
            gradients are enabled, for training does not use it).
        """
        if states is None:
            return super().forward(input)
        # Only an evaluation asks which predictions are right: the argmax is a pass over all logits.
        device, compare = states.device.type, not torch.is_grad_enabled()
        half = torch.get_autocast_dtype(device) if torch.is_autocast_enabled(device) else states.dtype
        return _TiedCrossEntropy.apply(states.to(half), self.weight, input, compare)  # type: ignore[no-untyped-call]


class _TiedCrossEntropy(torch.autograd.Function):
    """Softmax over all words, some tokens at a time: the (T, V) logits are never in memory as a whole.

    The backward pass computes them again. That is a fourth matrix product beside three, where storing and fetching the
    logits of a large vocabulary would take longer.
    """

    @staticmethod
    def forward(
        ctx: Any, states: Tensor, weight: Tensor, answers: Tensor, compare: bool
    ) -> tuple[Tensor, Tensor]:
        """See :meth:`TiedEmbedding.forward`."""
        words = weight.to(states.dtype)
        losses = states.new_empty(len(states), dtype=accumulation_dtype(states.dtype))
        correct = torch.zeros(len(states), dtype=torch.bool, device=states.device)
        norms = torch.empty_like(losses)
        for part in _parts(len(states), len(weight)):
            logits = (states[part] @ words.T).to(losses.dtype)
            norms[part] = logits.logsumexp(1)
            losses[part] = norms[part] - logits.gather(1, answers[part, None])[:, 0]
            if compare:
                correct[part] = logits.argmax(1) == answers[part]
        ctx.save_for_backward(states, weight, answers, norms)
        ctx.mark_non_differentiable(correct)
        return losses, correct

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> tuple[Tensor | None, ...]:
        """The gradients at states and words, given the gradient at the losses."""
        states, weight, answers, norms = ctx.saved_tensors
        at_losses = gradients[0]
        words = weight.to(states.dtype)
        at_states, at_weight = torch.empty_like(states), torch.zeros_like(weight)
        for part in _parts(len(states), len(weight)):
            probabilities = (states[part] @ words.T).to(norms.dtype)
            probabilities.sub_(norms[part, None]).exp_()
            # Softmax less the right answer: the gradient of the loss at the logits.
            probabilities.scatter_add_(1, answers[part, None], -torch.ones_like(norms[part, None]))
            at_logits = probabilities.mul_(at_losses[part, None]).to(states.dtype)
            at_states[part] = at_logits @ words
            at_weight += at_logits.T @ states[part]
        return at_states, at_weight, None, None


def _parts(tokens: int, words: int) -> list[slice]:
    """Slices of tokens whose logits fit into ``CELLS``."""
    step = max(1, CELLS // words)
    return [slice(start, start + step) for start in range(0, tokens, step)]
