"""How much the hierarchy counts in trained encoders: whether their layers add anything to what they read."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import torch

from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder
from cocite.systems.mp_bert4cr.network import MpBert4cr
from cocite.text.documents import Documents

NOTHING = 1e-4
"""A share below it is nothing: it changes no ranking."""


@dataclass(frozen=True)
class HierarchyShare:
    """What the layers of both encoders add, relative to the vector without them.

    Attributes:
        manuscripts: mean over dev manuscripts of the norm of what the manuscript encoder's layers add, divided by the
            norm of the vector without them.
        papers: the same of the citation encoder, over papers that they cite.

    Example:
        >>> share = HierarchyShare(manuscripts=0.0, papers=0.0)
        >>> share.notes(step=576)[0][:60]
        'at step 576 the layers add 0.000 of its vector to a manuscri'
        >>> len(share.notes(step=576)), len(HierarchyShare(0.4, 0.3).notes(step=576))  # the former with a warning
        (2, 1)
    """

    manuscripts: float
    papers: float

    def record(self) -> dict[str, float]:
        """The entry of a manifest's ``meta``."""
        return {"manuscripts": round(self.manuscripts, 6), "papers": round(self.papers, 6)}

    def notes(self, step: Any) -> list[str]:
        """The sentence that says the share at the exported step, and a warning where it is nothing.

        Args:
            step: that was exported.
        """
        told = (
            f"at step {step} the layers add {self.manuscripts:.3f} of its vector to a manuscript and "
            f"{self.papers:.3f} to a paper"
        )
        if max(self.manuscripts, self.papers) >= NOTHING:
            return [told]
        warning = (
            "warning: the exported layers add nothing, so the model is a weighted mean of what its sentences hold; "
            "the best step was one without layers (bag_epochs), or the recipe has none"
        )
        return [told, warning]


def hierarchy_share(model: MpBert4cr, manuscripts: Documents, papers: Documents) -> HierarchyShare:
    """Measure how much the layers of both encoders count, without dropout.

    Args:
        model: both encoders.
        manuscripts: documents that the one reads.
        papers: documents that the other reads.
    """

    def mean(encoder: HierarchicalEncoder, documents: Documents) -> float:
        device = next(encoder.parameters()).device
        training = encoder.training
        encoder.eval()
        try:
            with torch.autocast(device.type, enabled=False):
                return float(encoder.added_by_layers(documents.to(device)).mean())
        finally:
            encoder.train(training)

    return HierarchyShare(mean(model.manuscript, manuscripts), mean(model.citation, papers))
