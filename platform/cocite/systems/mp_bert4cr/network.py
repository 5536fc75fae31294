"""MP-BERT4CR's two encoders: one encodes manuscripts, the other cited papers (section 4.1.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cocite.bounds import ProperShare
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder, HierarchicalSettings
from cocite.text.documents import Documents


class MpBert4crModelSettings(HierarchicalSettings):
    """Size and shape of the model.

    Example:
        >>> MpBert4crModelSettings(shared_words=True).hidden
        768
    """

    shared_words: bool = False
    """Whether both encoders have the same word vectors; in the paper each has its own. Shared ones are trained by
    manuscripts and papers alike."""
    word_dropout: ProperShare = 0.0
    """Share of the tokens of manuscripts and papers that training leaves out; none in the paper."""


class MpBert4cr(nn.Module):
    """Computes vectors of manuscripts and of papers, in one space.

    Both encoders begin with the same weights: those of pretraining, or those of the seed, so that equal words are near
    from the beginning. Papers that are negatives go through the encoder of the cited ones, as in the paper.

    Args:
        settings: of each encoder.
        vocabulary: number of tokens that there are.

    Example:
        >>> settings = MpBert4crModelSettings(sentence_layers=1, document_layers=1, hidden=8, heads=2, inner=16)
        >>> model = MpBert4cr(settings, vocabulary=10).eval()
        >>> document = Documents(torch.tensor([5, 6, 2]), torch.tensor([0, 3]), torch.tensor([0, 1]))
        >>> vectors = model(document, document)  # one manuscript and one paper of the same words
        >>> vectors.shape, torch.allclose(vectors[0], vectors[1])
        (torch.Size([2, 8]), True)
    """

    def __init__(self, settings: MpBert4crModelSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.manuscript = HierarchicalEncoder(settings, vocabulary)
        self.citation = HierarchicalEncoder(settings, vocabulary)
        self.citation.load_state_dict(self.manuscript.state_dict())
        if settings.shared_words:
            self.citation.words = self.manuscript.words

    def copy_weights(self, encoder: HierarchicalEncoder, *, branches: float = 1.0) -> None:
        """Set both encoders' weights to those of a pretrained encoder of the same shape and vocabulary.

        Args:
            encoder: the pretrained one.
            branches: below 1, the factor of :meth:`HierarchicalEncoder.shrink_branches`.
        """
        for own in (self.manuscript, self.citation):
            own.load_state_dict(encoder.state_dict())
            if branches < 1:
                own.shrink_branches(branches)

    @torch.no_grad()
    def mix_in_words(self, vectors: Tensor) -> None:
        """Mix given vectors (V, d) into the words of both encoders; see :meth:`TiedEmbedding.mix_in`."""
        for words in {self.manuscript.words, self.citation.words}:
            words.mix_in(vectors)

    @torch.no_grad()
    def scale_words(self, weights: Tensor) -> None:
        """Multiply the word vectors of both encoders by weights (V,)."""
        for words in {self.manuscript.words, self.citation.words}:
            words.scale(weights)

    def forward(
        self, manuscripts: Documents | None, papers: Documents | None, *, layers: bool = True
    ) -> Tensor:
        """(q + c, d) vectors of q manuscripts, then of c papers; of either alone where the other is None.

        Args:
            manuscripts: q documents.
            papers: c documents.
            layers: see :meth:`HierarchicalEncoder.forward`.
        """
        share = self.settings.word_dropout if self.training else 0.0
        parts = [
            encoder(documents.thinned(share) if share else documents, layers=layers).documents
            for encoder, documents in ((self.manuscript, manuscripts), (self.citation, papers))
            if documents is not None
        ]
        return torch.cat(parts)

    def manuscripts(self, documents: Documents) -> Tensor:
        """(D, d) vectors of manuscripts."""
        vectors: Tensor = self(documents, None)
        return vectors

    def papers(self, documents: Documents) -> Tensor:
        """(D, d) vectors of papers."""
        vectors: Tensor = self(None, documents)
        return vectors

    def gradient_checkpointing_enable(self) -> None:
        """Compute the layers' states again in the backward pass instead of storing them."""
        for encoder in (self.manuscript, self.citation):
            encoder.gradient_checkpointing_enable()
