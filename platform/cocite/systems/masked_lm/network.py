"""A small BERT with its masked-language head, made anew: what a user without pretrained weights begins with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pydantic import Field, model_validator
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional
from transformers import BertConfig, BertForMaskedLM

from cocite.artifacts import publish
from cocite.bounds import Heads, ProperShare
from cocite.config import Settings

KIND = "masked-lm"


class BertSettings(Settings):
    """The shape of the encoder."""

    hidden: int = Field(256, ge=8, le=65_536)
    """d, width of a token's state."""
    layers: int = Field(4, ge=1, le=1000)
    heads: Heads = 4
    """Attention heads; they divide ``hidden``."""
    inner: int = Field(1024, ge=8, le=65_536)
    """Width within a feed-forward layer."""
    positions: int = Field(512, ge=16, le=65_536)
    """Tokens that can be read at once."""
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
        hidden: (b, n) bool, the tokens to be told; at least one a text.
        answers: (h,) int64 what stood there, text after text.
    """

    ids: Tensor
    mask: Tensor
    hidden: Tensor
    answers: Tensor


class MaskedLanguageModel(nn.Module):
    """BERT that tells hidden tokens (Devlin et al., 2019, section 3.1).

    Args:
        settings: its shape.
        vocabulary: tokens.
        pad: the token of padding.
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
        """(h, V) logits of the hidden tokens: the head sees no others."""
        states = self.bert.bert(input_ids=batch.ids, attention_mask=batch.mask.long()).last_hidden_state
        logits: Tensor = self.bert.cls(states[batch.hidden])
        return logits

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Compute the layers' states again in the backward pass instead of keeping them."""
        self.bert.gradient_checkpointing_enable(**options)

    def save(self, folder: Path, tokenizer: Any, meta: Mapping[str, Any]) -> None:
        """Write encoder and tokenizer as a Hugging Face folder, an artifact; one that exists is replaced.

        The head is left behind: it has done its work.
        """
        trunk = self.bert.bert
        with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
            trunk.config.architectures = ["BertModel"]
            trunk.config.save_pretrained(temporary)
            tokenizer.save_pretrained(temporary)
            weights = {name: value.detach().cpu().contiguous() for name, value in trunk.state_dict().items()}
            save_file(weights, temporary / "model.safetensors", {"format": "pt"})


def losses(logits: Tensor, batch: MaskedBatch) -> Tensor:
    """(b,) the mean cross-entropy over each text's hidden tokens."""
    each = functional.cross_entropy(logits.float(), batch.answers, reduction="none")  # (h,)
    table = each.new_zeros(batch.hidden.shape).masked_scatter(batch.hidden, each)
    return table.sum(1) / batch.hidden.sum(1)
