"""The network of the bi-encoder: a pretrained encoder whose tokens' states are pooled into one unit vector."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors.torch import save_file
from torch import Tensor, nn

from cocite.artifacts import publish
from cocite.errors import ConfigError
from cocite.nn import packed_bert
from cocite.nn import pretrained_transformers as backbones
from cocite.systems.sentence_encoder.encoder import SETTINGS, SentenceSettings
from cocite.systems.sentence_encoder.module_files import write_sentence_transformer
from cocite.systems.sentence_encoder.pooling import Pooling, pool
from cocite.text.pair_batch import PairBatch

KIND = "bi-encoder"


class BiEncoder(nn.Module):
    """Maps packed texts to unit vectors; queries and papers share its weights.

    Args:
        backbone: the Hugging Face encoder.
        tokenizer: its tokenizer.
        pooling: how the states of a text's tokens become one vector.
        max_tokens: tokens of a text that are read, the special ones included.

    Raises:
        ConfigError: the encoder reads fewer tokens.

    Example:
        >>> import torch
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> model = BiEncoder(BertModel(BertConfig(vocab_size=len(tokenizer), **size)), tokenizer, "mean", 32)
        >>> ids, types = torch.tensor([2, 7, 3, 2, 3]), torch.zeros(5, dtype=torch.int64)
        >>> model(PairBatch(ids, types, torch.tensor([0, 3, 5]), longest=3)).shape  # two texts
        torch.Size([2, 16])
    """

    def __init__(self, backbone: Any, tokenizer: Any, pooling: Pooling, max_tokens: int) -> None:
        super().__init__()
        limit = getattr(backbone.config, "max_position_embeddings", None)
        if limit is not None and backbone.config.model_type in packed_bert.SHIFTED:
            limit -= backbone.config.pad_token_id + 1
        if limit is not None and max_tokens > limit:
            raise ConfigError(f"texts.max_tokens is {max_tokens}, and the encoder reads {limit} tokens")
        backbones.drop_pooler(backbone)
        self.backbone, self.tokenizer = backbone, tokenizer
        self.pooling, self.max_tokens = pooling, max_tokens

    @classmethod
    def from_pretrained(
        cls,
        name_or_folder: str,
        *,
        pooling: Pooling,
        max_tokens: int,
        layers: backbones.Layers = None,
        dropout: float | None = None,
    ) -> BiEncoder:
        """A bi-encoder to train, on pretrained weights: fp32, on the CPU.

        Args:
            name_or_folder: a name on the Hugging Face hub, or a folder with config, tokenizer and safetensors.
            pooling: how the states of a text's tokens become one vector.
            max_tokens: tokens of a text that are read.
            layers: layers to keep.
            dropout: of states and of attention weights; None: the encoder's own.

        Raises:
            NotFoundError: there is no such folder, and no reachable hub has the name.
            InputError: the weights are not safetensors, or the model is no encoder.
            ConfigError: the encoder reads fewer tokens.
        """
        pretrained = backbones.load(name_or_folder, with_head=False)
        backbones.keep_layers(pretrained.backbone, layers)
        if dropout is not None:
            backbones.set_dropout(pretrained.backbone, dropout)
        return cls(pretrained.backbone, pretrained.tokenizer, pooling, max_tokens)

    def forward(self, texts: PairBatch) -> Tensor:
        """(n, d) unit vectors of n texts, in float32.

        Encoders of BERT's family run packed, others over texts padded to the longest.
        """
        if packed_bert.supports(self.backbone):
            states = packed_bert.all_states(self.backbone, texts)
        else:
            ids, _, mask = texts.padded(int(self.tokenizer.pad_token_id or 0))
            states = self.backbone(input_ids=ids, attention_mask=mask.long()).last_hidden_state[mask]
        return pool(states, texts.offsets, self.pooling)

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Let the backbone recompute states in the backward pass, not store them; ``options`` are the backbone's."""
        self.backbone.gradient_checkpointing_enable(**options)

    def save(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write encoder and tokenizer as a sentence-transformers folder, an artifact; an existing one is replaced."""
        with publish(folder, kind=KIND, meta=dict(meta), replace=True) as temporary:
            self.backbone.config.architectures = [type(self.backbone).__name__]
            self.backbone.config.save_pretrained(temporary)
            self.tokenizer.save_pretrained(temporary)
            weights = {
                name: value.detach().cpu().contiguous() for name, value in self.backbone.state_dict().items()
            }
            # transformers refuses a file whose metadata names no framework.
            save_file(weights, temporary / "model.safetensors", {"format": "pt"})
            settings = SentenceSettings(max_tokens=self.max_tokens, pooling=self.pooling)
            (temporary / SETTINGS).write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")
            write_sentence_transformer(temporary, settings)
