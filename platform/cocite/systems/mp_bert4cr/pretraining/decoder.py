"""The decoder of pretraining: predicts a hidden sentence, token by token, from its state in the document.

HIBERT (Zhang, Wei, Zhou 2019, section 3.2): a transformer with causal attention, whose second attention in each layer
attends to the document encoder's state of the sentence. That is a single state, so its attention weight is 1 and the
attention is a linear map of it.
"""

from __future__ import annotations

from torch import Tensor, nn

from cocite.nn.packed_attention import PackedSequences
from cocite.systems.mp_bert4cr.hierarchical_transformer import (
    HierarchicalSettings,
    InputEmbedding,
    TransformerLayer,
)


class DecoderLayer(TransformerLayer):
    """Causal attention, a linear map of the sentence's state in the document, and a feed-forward net.

    Args:
        settings: its shape.

    Example:
        >>> import torch
        >>> from cocite.nn.packed_attention import pack_by_length
        >>> packed, _ = pack_by_length(torch.tensor([2, 3]))  # two sentences of five tokens together
        >>> layer = DecoderLayer(HierarchicalSettings(hidden=8, heads=2, inner=16))
        >>> layer(torch.zeros(5, 8), packed, context=torch.zeros(2, 8)).shape
        torch.Size([5, 8])
    """

    def __init__(self, settings: HierarchicalSettings) -> None:
        super().__init__(settings, causal=True)
        self.context = nn.Linear(settings.hidden, settings.hidden)
        self.context_norm = nn.LayerNorm(settings.hidden)

    def forward(self, states: Tensor, packed: PackedSequences, context: Tensor | None = None) -> Tensor:
        """(T, d) from (T, d) and the (M, d) states of the M sentences in their documents.

        Raises:
            ValueError: ``context`` is not given.
        """
        if context is None:
            raise ValueError("a decoder's layer needs the state of each sentence")
        pre = self.settings.norm == "pre"
        added = self._branch(self.context(self.context_norm(context) if pre else context))
        added = added.index_select(0, packed.owner)
        if pre:
            states = states + self.attend(self.attention_norm(states), packed) + added
            return states + self.feed_forward(self.forward_norm(states))
        states = self.context_norm(self.attention_norm(states + self.attend(states, packed)) + added)
        normed: Tensor = self.forward_norm(states + self.feed_forward(states))
        return normed


class SentenceDecoder(nn.Module):
    """Computes the states from which the tokens of sentences are predicted.

    Args:
        settings: shape of the model.
        layers: number of layers.

    Example:
        >>> import torch
        >>> from cocite.nn.packed_attention import pack_by_length
        >>> packed, _ = pack_by_length(torch.tensor([2, 3]))
        >>> decoder = SentenceDecoder(HierarchicalSettings(hidden=8, heads=2, inner=16), layers=2)
        >>> decoder(torch.zeros(5, 8), torch.zeros(2, 8), packed).shape
        torch.Size([5, 8])
    """

    def __init__(self, settings: HierarchicalSettings, layers: int) -> None:
        super().__init__()
        self.tokens = InputEmbedding(settings, settings.sentence_tokens)
        self.layers = nn.ModuleList(DecoderLayer(settings) for _ in range(layers))
        self.norm = nn.LayerNorm(settings.hidden)

    def forward(self, words: Tensor, context: Tensor, packed: PackedSequences) -> Tensor:
        """(T, d) the state that predicts each token.

        Args:
            words: (T, d) embeddings of the previous tokens: a start token, then all tokens but the last.
            context: (M, d) the document encoder's state of each sentence.
            packed: the M sentences.
        """
        states = self.tokens(words, packed.positions)
        for layer in self.layers:
            states = layer(states, packed, context)
        normed: Tensor = self.norm(states)
        return normed
