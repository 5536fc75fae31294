"""A small BERT with its masked-language head and random initial weights."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from safetensors.torch import save_file
from torch import Tensor, nn
from transformers import BertConfig, BertForMaskedLM

from cocite.artifacts import publish
from cocite.bounds import Heads, ProperShare
from cocite.config import Settings

KIND = "masked-lm"


class BertSettings(Settings):
    """The shape of the encoder.

    Example:
        >>> BertSettings(hidden=128, heads=2).layers
        4
        >>> BertSettings.parse({"hidden": 128, "heads": 3})
        Traceback (most recent call last):
        cocite.errors.ConfigError: 3 heads do not divide a width of 128
    """

    hidden: int = Field(256, ge=8, le=65_536)
    """d, width of a token's state."""
    layers: int = Field(4, ge=1, le=1000)
    heads: Heads = 4
    """Attention heads; they divide ``hidden``."""
    inner: int = Field(1024, ge=8, le=65_536)
    """Width within a feed-forward layer."""
    positions: int = Field(512, ge=16, le=65_536)
    """Most tokens of a text."""
    dropout: ProperShare = 0.1

    @model_validator(mode="after")
    def _possible(self) -> BertSettings:
        if self.hidden % self.heads:
            raise ValueError(f"{self.heads} heads do not divide a width of {self.hidden}")
        return self


@dataclass(frozen=True)
class MaskedBatch:
    """b texts with some tokens hidden.

    Attributes:
        ids: (b, n) int64, padded.
        mask: (b, n) bool, True where there is a token.
        hidden: (b, n) bool, the tokens to predict; at least one a text.
        answers: (h,) int64 the tokens that were hidden, text after text.

    Example:
        >>> import torch
        >>> batch = MaskedBatch(  # [CLS] 7 [MASK] [SEP], where 8 was masked
        ...     torch.tensor([[2, 7, 4, 3]]), torch.ones(1, 4).bool(),
        ...     hidden=torch.tensor([[False, False, True, False]]), answers=torch.tensor([8]))
        >>> batch.ids[batch.hidden], batch.answers
        (tensor([4]), tensor([8]))
    """

    ids: Tensor
    mask: Tensor
    hidden: Tensor
    answers: Tensor


class MaskedLanguageModel(nn.Module):
    """A BERT that predicts hidden tokens (Devlin et al. 2019, section 3.1).

    Args:
        settings: its shape.
        vocabulary: number of tokens.
        pad: the token of padding.

    Example:
        >>> import torch
        >>> model = MaskedLanguageModel(BertSettings(hidden=8, layers=1, heads=2, inner=16), vocabulary=10, pad=0)
        >>> batch = MaskedBatch(torch.tensor([[2, 7, 4, 3]]), torch.ones(1, 4).bool(),
        ...                     torch.tensor([[False, False, True, False]]), torch.tensor([8]))
        >>> model(batch).shape  # logits of the one hidden token
        torch.Size([1, 10])
    """

    def __init__(self, settings: BertSettings, vocabulary: int, pad: int) -> None:
        super().__init__()
        self.bert = BertForMaskedLM(
            BertConfig(
                vocab_size=vocabulary,
                hidden_size=settings.hidden,
                num_hidden_layers=settings.layers,
                num_attention_heads=settings.heads,
                intermediate_size=settings.inner,
                max_position_embeddings=settings.positions,
                hidden_dropout_prob=settings.dropout,
                attention_probs_dropout_prob=settings.dropout,
                pad_token_id=pad,
            )
        )

    def forward(self, batch: MaskedBatch) -> Tensor:
        """(h, V) logits of the hidden tokens; the head is computed for no others."""
        states = self.bert.bert(input_ids=batch.ids, attention_mask=batch.mask.long()).last_hidden_state
        logits: Tensor = self.bert.cls(states[batch.hidden])
        return logits

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Compute the layers' states again in the backward pass instead of storing them."""
        self.bert.gradient_checkpointing_enable(**options)

    def save(self, folder: Path, tokenizer: Any, meta: Mapping[str, Any]) -> None:
        """Write encoder and tokenizer as a Hugging Face folder, an artifact; an existing one is replaced.

        The head is not written: only this training needs it.
        """
        backbone = self.bert.bert
        with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
            backbone.config.architectures = ["BertModel"]
            backbone.config.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
            weights = {
                name: value.detach().cpu().contiguous() for name, value in backbone.state_dict().items()
            }
            # transformers refuses a file whose metadata names no framework.
            save_file(weights, temporary / "model.safetensors", {"format": "pt"})
