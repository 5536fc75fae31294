"""The model of hierarchical pretraining: an encoder of documents with hidden sentences, which a decoder predicts.

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
from cocite.nn.packed_attention import pack_by_length, row_indices
from cocite.nn.weight_files import load_weights, weights_of, write_settings
from cocite.systems.mp_bert4cr.hierarchical_transformer import HierarchicalEncoder, HierarchicalSettings
from cocite.systems.mp_bert4cr.pretraining.decoder import SentenceDecoder
from cocite.text.documents import Documents
from cocite.verification import open_verified

KIND = "mp-bert4cr-pretraining"
CONFIG, WEIGHTS = "hierarchical.json", "model.safetensors"


@dataclass(frozen=True)
class HiddenSentences:
    """Documents with hidden sentences, and the tokens that were hidden.

    Attributes:
        documents: the encoder's input.
        hidden: (M,) numbers of the hidden sentences, ascending.
        answers: (A,) int64 tokens of the hidden sentences, one after the other, each with its end token.
        bounds: (M + 1,) where each hidden sentence begins in ``answers``.

    Example:
        >>> documents = Documents(torch.tensor([4, 4, 2, 7, 2]), torch.tensor([0, 3, 5]), torch.tensor([0, 2]))
        >>> batch = HiddenSentences(  # the first sentence reads [MASK] [MASK], and was 5 6
        ...     documents, torch.tensor([0]), answers=torch.tensor([5, 6, 2]), bounds=torch.tensor([0, 3]))
        >>> batch.bounds.diff()
        tensor([3])
    """

    documents: Documents
    hidden: Tensor
    answers: Tensor
    bounds: Tensor


class HierarchicalPretrainer(nn.Module):
    """Predicts hidden sentences.

    Args:
        settings: shape of the encoder.
        decoder_layers: layers of the decoder.
        vocabulary: number of tokens that there are.
        begin: the token before a sentence's first.

    Example:
        >>> settings = HierarchicalSettings(sentence_layers=1, document_layers=1, hidden=8, heads=2, inner=16)
        >>> model = HierarchicalPretrainer(settings, decoder_layers=1, vocabulary=10, begin=3)
        >>> documents = Documents(torch.tensor([4, 4, 2, 7, 2]), torch.tensor([0, 3, 5]), torch.tensor([0, 2]))
        >>> losses, correct = model(HiddenSentences(
        ...     documents, torch.tensor([0]), answers=torch.tensor([5, 6, 2]), bounds=torch.tensor([0, 3])))
        >>> losses.shape  # one loss a hidden token
        torch.Size([3])
    """

    def __init__(
        self, settings: HierarchicalSettings, decoder_layers: int, vocabulary: int, begin: int
    ) -> None:
        super().__init__()
        self.begin = begin
        self.encoder = HierarchicalEncoder(settings, vocabulary)
        self.decoder = SentenceDecoder(settings, decoder_layers)

    def forward(self, batch: HiddenSentences) -> tuple[Tensor, Tensor]:
        """(A,) cross-entropy of each hidden token, given those before it; (A,) bool, whether it is the most probable.

        The latter is computed where gradients are disabled, and all false elsewhere.
        """
        context = self.encoder(batch.documents).sentences[batch.hidden]
        packed, order = pack_by_length(batch.bounds.diff())
        rows = row_indices(batch.bounds[:-1][order], packed)
        tokens = batch.answers[rows]
        # Rolled over all sentences at once: the first place of each gets another's last token, and then the begin.
        before = tokens.roll(1)
        before[packed.offsets[:-1]] = self.begin
        states = self.decoder(self.encoder.words(before), context[order], packed)
        losses, correct = self.encoder.words(tokens, states)
        back = torch.empty_like(rows)
        back[rows] = torch.arange(len(rows), device=rows.device)
        return losses[back], correct[back]

    def gradient_checkpointing_enable(self) -> None:
        """Compute the encoder's states again in the backward pass instead of storing them."""
        self.encoder.gradient_checkpointing_enable()


class PretrainedConfig(Settings):
    """``hierarchical.json`` of an artifact.

    Example:
        >>> PretrainedConfig.parse({"model": {"hidden": 192, "heads": 4}}).model.hidden
        192
    """

    model: HierarchicalSettings


def save_pretrained(
    folder: Path, encoder: HierarchicalEncoder, tokenizer: Any, meta: Mapping[str, Any]
) -> None:
    """Write an artifact of the pretrained encoder; an existing one is replaced."""
    with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
        write_settings(temporary / CONFIG, PretrainedConfig(model=encoder.settings))
        tokenizer.save_pretrained(temporary)
        save_file(weights_of(encoder), temporary / WEIGHTS, {"format": "pt"})


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
