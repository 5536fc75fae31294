"""The decoder of pretraining: rebuilds a hidden sentence token by token from what its document says of it.

HIBERT (Zhang, Wei, Zhou 2019, section 3.2): a transformer with causal attention whose second part in each layer attends
to the document encoder's state of the sentence. That is one state, so its attention weight is 1 and the attention is a
linear map of it.
"""

from __future__ import annotations

from torch import Tensor, nn

from cocite.nn.packed_attention import Packed
from cocite.systems.mp_bert4cr.hierarchical import Embedding, HierarchicalSettings, Layer


class DecoderLayer(Layer):
    """Causal attention, the document's word on the sentence, and a feed-forward net.

    Args:
        settings: its shape.
    """

    def __init__(self, settings: HierarchicalSettings) -> None:
        super().__init__(settings, causal=True)
        self.context = nn.Linear(settings.hidden, settings.hidden)
        self.context_norm = nn.LayerNorm(settings.hidden)

    def forward(self, states: Tensor, packed: Packed, told: Tensor | None = None) -> Tensor:
        """(T, d) from (T, d), and from what is told of each sentence, (M, d)."""
        if told is None:
            raise ValueError("a decoder's layer needs what is told of each sentence")
        before = self.settings.norm == "pre"
        added = self._added(self.context(self.context_norm(told) if before else told))
        added = added.index_select(0, packed.owner)
        if before:
            states = states + self.attend(self.attention_norm(states), packed) + added
            return states + self.feed_forward(self.forward_norm(states))
        states = self.context_norm(self.attention_norm(states + self.attend(states, packed)) + added)
        normed: Tensor = self.forward_norm(states + self.feed_forward(states))
        return normed


class SentenceDecoder(nn.Module):
    """States from which the tokens of sentences are told.

    Args:
        settings: shape of the model.
        layers: how many.
    """

    def __init__(self, settings: HierarchicalSettings, layers: int) -> None:
        super().__init__()
        self.tokens = Embedding(settings, settings.sentence_tokens)
        self.layers = nn.ModuleList(DecoderLayer(settings) for _ in range(layers))
        self.norm = nn.LayerNorm(settings.hidden)

    def forward(self, words: Tensor, told: Tensor, packed: Packed) -> Tensor:
        """(T, d) state before each token.

        Args:
            words: (T, d) embeddings of the tokens before: a start, then all tokens but the last.
            told: (M, d) the document encoder's state of each sentence.
            packed: the sentences.
        """
        states = self.tokens(words, packed.places)
        for layer in self.layers:
            states = layer(states, packed, told)
        normed: Tensor = self.norm(states)
        return normed
