"""MP-BERT4CR's two encoders: one reads manuscripts, the other cited papers (section 4.1.2)."""

from __future__ import annotations

import torch
from torch import Tensor, nn

from cocite.systems.mp_bert4cr.hierarchical import HierarchicalEncoder, HierarchicalSettings
from cocite.text.documents import Documents


class MpBert4crModelSettings(HierarchicalSettings):
    """Size and shape of the model."""

    shared_words: bool = False
    """Whether both encoders have the same word vectors; in the paper each has its own. Shared ones are trained by
    manuscripts and papers alike."""


class MpBert4cr(nn.Module):
    """Vectors of manuscripts and of papers, in one space.

    Both encoders begin with the same weights: those of pretraining, or those of the seed, so that equal words are near
    from the beginning. Papers that are negatives are read by the encoder of the cited ones.

    Args:
        settings: of each encoder.
        vocabulary: tokens that there are.
    """

    def __init__(self, settings: MpBert4crModelSettings, vocabulary: int) -> None:
        super().__init__()
        self.settings = settings
        self.manuscript = HierarchicalEncoder(settings, vocabulary)
        self.citation = HierarchicalEncoder(settings, vocabulary)
        self.citation.load_state_dict(self.manuscript.state_dict())
        if settings.shared_words:
            self.citation.words = self.manuscript.words

    def begin_with(self, encoder: HierarchicalEncoder, *, branches: float = 1.0) -> None:
        """Take the weights of a pretrained encoder, of the same shape and vocabulary, for both.

        Args:
            encoder: the pretrained one.
            branches: below 1 its layers are quiet at first; see :meth:`HierarchicalEncoder.quieten`.
        """
        for own in (self.manuscript, self.citation):
            own.load_state_dict(encoder.state_dict())
            if branches < 1:
                own.quieten(branches)

    @torch.no_grad()
    def start_words(self, vectors: Tensor) -> None:
        """Make the words of both encoders half of given vectors (V, d); see :meth:`Words.start`."""
        for words in {self.manuscript.words, self.citation.words}:
            words.start(vectors)

    @torch.no_grad()
    def weigh(self, weights: Tensor) -> None:
        """Multiply the word vectors of both encoders by weights (V,)."""
        for words in {self.manuscript.words, self.citation.words}:
            words.weigh(weights)

    def forward(
        self, manuscripts: Documents | None, papers: Documents | None, *, layers: bool = True
    ) -> Tensor:
        """(q + c, d) vectors of q manuscripts, then of c papers; of either alone where the other is not given.

        Args:
            manuscripts: q documents.
            papers: c documents.
            layers: see :meth:`HierarchicalEncoder.forward`.
        """
        parts = [
            encoder(documents, layers=layers).documents
            for encoder, documents in ((self.manuscript, manuscripts), (self.citation, papers))
            if documents is not None
        ]
        return torch.cat(parts)

    def manuscripts(self, documents: Documents) -> Tensor:
        """(D, d) vectors of manuscripts."""
        found: Tensor = self(documents, None)
        return found

    def papers(self, documents: Documents) -> Tensor:
        """(D, d) vectors of papers."""
        found: Tensor = self(None, documents)
        return found

    def gradient_checkpointing_enable(self) -> None:
        """Compute the layers' states again in the backward pass instead of keeping them."""
        for encoder in (self.manuscript, self.citation):
            encoder.gradient_checkpointing_enable()
