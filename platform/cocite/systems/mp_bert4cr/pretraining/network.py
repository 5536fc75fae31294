"""The model of hierarchical pretraining: an encoder reads documents with sentences hidden, a decoder tells them.

HIBERT (Zhang, Wei, Zhou 2019, section 3.2).
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import AutoTokenizer

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.manifests import read_json
from cocite.nn.packed_attention import rows_of, sorted_by_length
from cocite.nn.weight_files import load_weights, weights_of, write_settings
from cocite.systems.mp_bert4cr.hierarchical import HierarchicalEncoder, HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.decoder import SentenceDecoder
from cocite.text.documents import Documents
from cocite.verification import open_verified

KIND = "mp-bert4cr-pretraining"
CONFIG, WEIGHTS = "hierarchical.json", "model.safetensors"


@dataclass(frozen=True)
class HiddenSentences:
    """Documents with sentences hidden, and what these were.

    Attributes:
        documents: as the encoder sees them.
        hidden: (M,) numbers of the hidden sentences, ascending.
        answers: (A,) int64 tokens of what they were, one behind the other, each with its end token.
        bounds: (M + 1,) where each begins in ``answers``.
    """

    documents: Documents
    hidden: Tensor
    answers: Tensor
    bounds: Tensor


class HierarchicalPretrainer(nn.Module):
    """Tells hidden sentences.

    Args:
        settings: shape of the encoder.
        decoder_layers: layers of the decoder.
        vocabulary: tokens that there are.
        begin: the token before a sentence's first.
    """

    def __init__(
        self, settings: HierarchicalSettings, decoder_layers: int, vocabulary: int, begin: int
    ) -> None:
        super().__init__()
        self.begin = begin
        self.encoder = HierarchicalEncoder(settings, vocabulary)
        self.decoder = SentenceDecoder(settings, decoder_layers)

    def forward(self, batch: HiddenSentences) -> tuple[Tensor, Tensor]:
        """(A,) cross-entropy of each hidden token, given those before it; (A,) bool, whether it is the likeliest.

        The second is told where no gradient is asked for.
        """
        told = self.encoder(batch.documents).sentences[batch.hidden]
        packed, order = sorted_by_length(batch.bounds.diff())
        rows = rows_of(batch.bounds[:-1][order], packed)
        tokens = batch.answers[rows]
        before = tokens.roll(1)
        before[packed.offsets[:-1]] = self.begin
        states = self.decoder(self.encoder.words(before), told[order], packed)
        losses, right = self.encoder.words(tokens, states)
        place = torch.empty_like(rows)
        place[rows] = torch.arange(len(rows), device=rows.device)
        return losses[place], right[place]

    def gradient_checkpointing_enable(self) -> None:
        """Compute the encoder's states again in the backward pass instead of keeping them."""
        self.encoder.gradient_checkpointing_enable()


class PretrainedConfig(Settings):
    """``hierarchical.json`` of an artifact."""

    model: HierarchicalSettings


def save_pretrained(
    folder: Path, model: HierarchicalPretrainer, tokenizer: Any, meta: Mapping[str, Any]
) -> None:
    """Write an artifact of the encoder; one that exists is replaced. The decoder has done its work."""
    with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
        write_settings(temporary / CONFIG, PretrainedConfig(model=model.encoder.settings))
        tokenizer.save_pretrained(temporary)
        save_file(weights_of(model.encoder), temporary / WEIGHTS, {"format": "pt"})


def load_pretrained(folder: Path) -> tuple[HierarchicalEncoder, Any]:
    """The encoder of an artifact, and its tokenizer.

    Raises:
        CociteError: no such artifact, or files that are missing, damaged or do not fit each other.
    """
    open_verified(folder, kind=KIND)
    config = PretrainedConfig.parse(read_json(folder / CONFIG), where=str(folder / CONFIG))
    tokenizer = AutoTokenizer.from_pretrained(str(folder))
    encoder = HierarchicalEncoder(config.model, len(tokenizer))
    load_weights(encoder, folder / WEIGHTS)
    return encoder, tokenizer
