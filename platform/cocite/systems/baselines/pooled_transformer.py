"""Any Hugging Face encoder as a baseline: pooled token states, without training.

MP-BERT4CR pools abstracts by their sum and ranks by cosine (section 5.3), which is that of the mean. Papers are title
and abstract, queries are contexts. The paper fine-tunes its SciBERT and SPECTER: ``cocite train bi-encoder`` does so
with any encoder, and the folder that it writes is an encoder here.
"""

from __future__ import annotations

import hashlib
from pathlib import Path
from typing import Any

import numpy as np
import torch

from cocite.nn import pretrained_transformers as backbones
from cocite.systems.sentence_encoder.encoder import SentenceEncoder, SentenceSettings

HUB = {"scibert": "allenai/scibert_scivocab_uncased", "specter": "allenai/specter"}
"""The paper's encoders by a short name (Beltagy et al. 2019; Cohan et al. 2020)."""
MAX_TOKENS = 256
"""Most tokens of a text that are read."""


class PooledEncoder(SentenceEncoder):
    """A sentence encoder with the name of the model that was loaded.

    Attributes:
        name: the hub's name, or the folder's with a note that it is one, for tables.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> encoder = PooledEncoder("tiny", bert, tokenizer, SentenceSettings(max_tokens=16))
        >>> encoder.name, encoder.dimension, len(encoder.id)
        ('tiny', 16, 16)
    """

    def __init__(self, name: str, model: torch.nn.Module, tokenizer: Any, settings: SentenceSettings) -> None:
        super().__init__(model, tokenizer, settings, fingerprint(model, tokenizer, settings))
        self.name = name


def pooled_encoder(encoder: str) -> PooledEncoder:
    """Load an encoder by a short name of :data:`HUB`, a name on the Hugging Face hub, or a folder.

    Raises:
        CociteError: as :func:`cocite.nn.pretrained_transformers.load`.
    """
    folder = Path(encoder)
    where = encoder if folder.is_dir() else HUB.get(encoder.casefold(), encoder)
    name = f"{folder.resolve().name} (local encoder)" if folder.is_dir() else where
    pretrained = backbones.load(where, with_head=False)
    limit = getattr(pretrained.backbone.config, "max_position_embeddings", None) or MAX_TOKENS
    settings = SentenceSettings(max_tokens=min(MAX_TOKENS, limit))
    return PooledEncoder(name, pretrained.backbone, pretrained.tokenizer, settings)


def fingerprint(model: torch.nn.Module, tokenizer: Any, settings: SentenceSettings) -> str:
    """16 hexadecimal digits of all that the vectors depend on.

    A pooler is left out: no pooling of this package reads it, and one that the folder lacks has other random weights
    each time that the encoder is loaded.
    """
    digest = hashlib.sha256(settings.model_dump_json().encode())
    digest.update(repr(sorted(tokenizer.get_vocab().items())).encode())
    for name, weight in sorted(model.state_dict().items()):
        if name.startswith("pooler."):
            continue
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(np.ascontiguousarray(weight.detach().cpu().float().numpy()).tobytes())
    return digest.hexdigest()[:16]
