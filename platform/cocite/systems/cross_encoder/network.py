"""The network of the cross-encoder: a pretrained encoder over query and candidate, and a head on its first token.

HAtten + SciBERT (section 4.2) and Nogueira et al. (section 3): a linear layer maps the state of ``[CLS]`` to a logit,
whose sigmoid is the relevance in [0, 1]. Any Hugging Face encoder serves as the backbone.

The other readout adds the cosine of the two sides' mean states (:class:`Similarity`), by which the weights of a
sentence encoder order candidates before any training.
"""

from __future__ import annotations

import json
import math
from collections.abc import Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor, nn
from torch.nn import functional

from cocite.artifacts import publish
from cocite.config import Settings
from cocite.errors import ConfigError, InputError, IntegrityError
from cocite.manifests import MANIFEST, read_json, read_manifest
from cocite.nn import packed_bert
from cocite.nn import pretrained_transformers as backbones
from cocite.text.pair_batch import PairBatch
from cocite.text.pair_tokenizer import PairSettings, PairTokenizer
from cocite.verification import open_verified

KIND = "cross-encoder"
Readout = Literal["first", "similarity"]
"""What the logit is computed from: the first token's last state, by a linear layer; or that plus the similarity of the
two sides (:class:`Similarity`)."""
WEIGHTS = "model.safetensors"
SCIBERT = "allenai/scibert_scivocab_uncased"
OWN = "cocite"
"""Key of ``config.json`` with the :class:`CrossEncoderConfig`."""
SCALE = 20.0
"""Logits to a cosine of 1 before training: about the inverse temperature that sentence encoders are trained at."""
MIDDLE = 0.85
"""Cosine of relevance one half before training. Attention between the sides makes their states alike, so it is high:
about the median of retrieved candidates with all-MiniLM-L6-v2, whose cosines lie between 0.75 and 0.91."""


class CrossEncoderConfig(Settings):
    """The part of an artifact's ``config.json`` beside the backbone's own configuration.

    Example:
        >>> config = CrossEncoderConfig(pairs=PairSettings(layout="global"))
        >>> config.readout, config.pairs.total
        ('first', 512)
    """

    pairs: PairSettings
    pooled: bool = False
    """Whether [CLS]'s state goes through the backbone's pooler (a dense layer and tanh) before the linear layer."""
    readout: Readout = "first"


class Similarity(nn.Module):
    """Compares the two sides of a pair after attention between them: scale * cosine of the means of their states.

    With a sentence encoder (mean pooling, cosines) as the backbone, this logit orders candidates before any training.

    Example:
        >>> ids, types = torch.tensor([7, 8, 9]), torch.tensor([0, 0, 1])  # a query of two tokens, a candidate of one
        >>> batch = PairBatch(ids, types, torch.tensor([0, 3]), longest=3)
        >>> states = torch.tensor([[1.0, 0.0], [1.0, 0.0], [2.0, 0.0]])
        >>> Similarity()(states, batch).item()
        20.0
    """

    def __init__(self) -> None:
        super().__init__()
        self.sharpness = nn.Parameter(torch.full((1,), math.log(SCALE)))

    def forward(self, states: Tensor, batch: PairBatch) -> Tensor:
        """(b,) from the (T, d) states of a batch's tokens."""
        side = 2 * batch.pairs + batch.types  # (T,)
        # The cosine of sums is that of means.
        sums = states.new_zeros(2 * len(batch), states.shape[1], dtype=torch.float32)
        sums = sums.index_add(0, side, states.float()).view(len(batch), 2, -1)
        return self.sharpness.exp() * functional.cosine_similarity(sums[:, 0], sums[:, 1])


class CrossEncoder(nn.Module):
    """Scores pairs of a query and a candidate.

    Attributes:
        backbone: the Hugging Face encoder.
        head: (d -> 1).
        pairs: makes token pairs, with the layout and budgets that the model was trained with.
        pooled: whether the backbone's pooler comes before the head, as in published rerankers of BERT's family.
        similarity: compares the two sides; None: the logit is the head's alone.
        id: fingerprint of a saved or loaded model; empty for one that was not saved.

    Raises:
        ConfigError: the budgets exceed what the backbone reads.
        InputError: the tokenizer sets no token before a pair, ``pooled`` with a backbone that has no pooler, or
            ``similarity`` with a tokenizer that gives both sides one token type.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> settings = PairSettings(layout="global", query_tokens=32, candidate_tokens=32)
        >>> model = CrossEncoder(bert, PairTokenizer(tokenizer, settings))
        >>> queries, papers = model.pairs.tokens(["graph parsing"] * 2), model.pairs.tokens(["neural parsing", "graph"])
        >>> model(model.pairs.batch(queries, papers)).shape  # a logit for each of two pairs
        torch.Size([2])
    """

    def __init__(
        self, backbone: Any, pairs: PairTokenizer, *, pooled: bool = False, readout: Readout = "first"
    ) -> None:
        super().__init__()
        config = backbone.config
        if pooled and getattr(backbone, "pooler", None) is None:
            raise InputError(f"a {config.model_type} has no pooler to read [CLS] through")
        if not pooled:
            backbones.drop_pooler(backbone)
        self.backbone, self.pooled = backbone, pooled
        self.set_pairs(pairs)
        self.dropout = nn.Dropout(getattr(config, "hidden_dropout_prob", None) or 0.0)
        self.head = nn.Linear(config.hidden_size, 1)
        nn.init.normal_(self.head.weight, std=0.02)
        nn.init.zeros_(self.head.bias)
        self.similarity = Similarity() if readout == "similarity" else None
        if self.similarity is not None:
            if not pairs.marks_sides:
                raise InputError(
                    f"the tokenizer of this {config.model_type} does not tell query and candidate apart",
                    where="readout: similarity",
                    hint="set readout: first",
                )
            nn.init.zeros_(self.head.weight)  # what the first token adds is learned from nothing
            nn.init.constant_(self.head.bias, -MIDDLE * SCALE)
        self.id = ""

    def set_pairs(self, pairs: PairTokenizer) -> None:
        """Change the layout or the budgets of the pairs; a new gap token gets an embedding.

        Raises:
            ConfigError: the budgets exceed what the backbone reads.
            InputError: the tokenizer sets no token before a pair.
        """
        config: Any = self.backbone.config
        if not pairs.has_first_token:
            raise InputError(f"the tokenizer of this {config.model_type} sets no [CLS] before a pair")
        limit = getattr(config, "max_position_embeddings", None)
        if limit is not None and config.model_type in packed_bert.SHIFTED:
            # These types count positions from behind the padding's number, and the table has as many fewer.
            limit -= config.pad_token_id + 1
        if limit is not None and pairs.settings.total > limit:
            raise ConfigError(
                f"query_tokens + candidate_tokens is {pairs.settings.total}, and the model reads {limit} tokens",
                hint="lower one of the two",
            )
        if pairs.vocabulary_size > config.vocab_size:
            self.backbone.resize_token_embeddings(pairs.vocabulary_size)
        self.pairs = pairs

    @property
    def readout(self) -> Readout:
        """See :data:`Readout`."""
        return "first" if self.similarity is None else "similarity"

    # -- scoring ------------------------------------------------------------------------------------------------

    def forward(self, batch: PairBatch) -> Tensor:
        """(b,) logits of b pairs on the model's device; the sigmoid of one is the relevance in [0, 1].

        Trunks of BERT's family are run packed, others over pairs padded to the longest.
        """
        packed = packed_bert.supports(self.backbone)
        if self.similarity is not None:
            states = packed_bert.all_states(self.backbone, batch) if packed else self.all_padded(batch)
            return self.compared(states, batch)
        return self.logits(
            packed_bert.first_states(self.backbone, batch) if packed else self.first_padded(batch)
        )

    def first_padded(self, batch: PairBatch) -> Tensor:
        """(b, d) last state of each pair's first token, by the backbone's own forward over padded pairs."""
        return self._padded(batch)[0][:, 0]

    def all_padded(self, batch: PairBatch) -> Tensor:
        """(T, d) last state of every token, by the backbone's own forward over padded pairs."""
        states, mask = self._padded(batch)
        return states[mask]

    def _padded(self, batch: PairBatch) -> tuple[Tensor, Tensor]:
        """(b, longest, d) last states, and where there are tokens."""
        ids, types, mask = batch.padded(self.pairs.pad)
        inputs = {"input_ids": ids, "attention_mask": mask.long()}
        if (getattr(self.backbone.config, "type_vocab_size", None) or 0) > 1:
            inputs["token_type_ids"] = types
        return self.backbone(**inputs).last_hidden_state, mask

    def compared(self, states: Tensor, batch: PairBatch) -> Tensor:
        """(b,) logits from the (T, d) last states of all tokens, where the readout is ``similarity``."""
        assert self.similarity is not None
        similarity: Tensor = self.similarity(states, batch)
        return similarity + self.logits(states[batch.offsets[:-1]])

    def logits(self, first: Tensor) -> Tensor:
        """(b,) logits from the (b, d) last states of first tokens."""
        if self.pooled:
            first = self.backbone.pooler(first[:, None])
        # The head may have a higher precision than the backbone.
        first = self.dropout(first).to(self.head.weight.dtype)
        logits: Tensor = self.head(first).squeeze(-1)
        return logits

    def gradient_checkpointing_enable(self, **options: Any) -> None:
        """Let the backbone recompute states in the backward pass, not store them; ``options`` are the backbone's."""
        self.backbone.gradient_checkpointing_enable(**options)

    # -- loading and saving -------------------------------------------------------------------------------------

    @classmethod
    def from_pretrained(
        cls,
        name_or_folder: str | Path = SCIBERT,
        pairs: PairSettings | None = None,
        *,
        layers: backbones.Layers = None,
        dropout: float | None = None,
        readout: Readout | None = None,
    ) -> CrossEncoder:
        """A cross-encoder to train, on pretrained weights: fp32, on the CPU.

        The head is new, drawn from torch's generator, unless the folder has one: a cocite cross-encoder, or a published
        reranker of BERT's family with one label (pooler and classifier).

        Args:
            name_or_folder: a name on the Hugging Face hub, or a folder with config, tokenizer and safetensors.
            pairs: layout and budgets; None: those of a cocite cross-encoder, else the defaults.
            layers: layers to keep.
            dropout: of states and of attention weights, instead of the backbone's own; 0 lets training use the fast
                attention kernel.
            readout: see :data:`Readout`; None: that of a cocite cross-encoder, else ``first``.

        Raises:
            NotFoundError: there is no such folder, and no reachable hub has the name.
            InputError: the weights are not safetensors, or the model does not fit as a backbone.
        """
        folder = Path(name_or_folder)
        if (folder / MANIFEST).is_file() and read_manifest(folder).kind == KIND:
            model = cls.load(name_or_folder)
            # Its weights are about to change: only a saved network has an id.
            model.id = ""
            if readout is not None and readout != model.readout:
                raise InputError(f"its readout is {model.readout}, not {readout}", where=str(folder))
            if pairs is not None:
                model.set_pairs(PairTokenizer(model.pairs.tokenizer, pairs))
        else:
            pretrained = backbones.load(str(name_or_folder))
            tokenizer = PairTokenizer(pretrained.tokenizer, pairs or PairSettings())
            # A published reranker's head was trained on its pooler's output, and fits nothing else.
            pooled = pretrained.head is not None and readout != "similarity"
            model = cls(pretrained.backbone, tokenizer, pooled=pooled, readout=readout or "first")
            if pretrained.head is not None and pooled:
                model.head = pretrained.head
        backbones.keep_layers(model.backbone, layers)
        if dropout is not None:
            backbones.set_dropout(model.backbone, dropout)
            model.dropout.p = dropout
        return model

    def save(self, folder: str | Path, meta: Mapping[str, Any] | None = None) -> str:
        """Write the artifact; an existing one is replaced once this one is complete.

        ``config.json`` is the backbone's, and the backbone's weights keep their names, so that
        ``AutoModel.from_pretrained`` can load the backbone from it.

        Returns:
            The model's id.
        """
        folder = Path(folder)
        with publish(folder, kind=KIND, meta=dict(meta or {}), replace=True) as temporary:
            own = CrossEncoderConfig(pairs=self.pairs.settings, pooled=self.pooled, readout=self.readout)
            config = {**self.backbone.config.to_dict(), "architectures": [type(self.backbone).__name__]}
            config[OWN] = own.model_dump(mode="json")
            text = json.dumps(config, indent=1, sort_keys=True)
            (temporary / "config.json").write_text(text + "\n", encoding="utf-8")
            self.pairs.tokenizer.save_pretrained(temporary)
            weights = {**self.backbone.state_dict(), **self.head.state_dict(prefix="head.")}
            if self.similarity is not None:
                weights |= self.similarity.state_dict(prefix="similarity.")
            weights = {name: value.detach().cpu().contiguous() for name, value in weights.items()}
            # transformers refuses a file whose metadata names no framework.
            save_file(weights, temporary / WEIGHTS, {"format": "pt"})
        self.id = read_manifest(folder).digest
        return self.id

    @classmethod
    def load(cls, folder: str | Path) -> CrossEncoder:
        """Load an artifact, or the ``cross-encoder/`` of a model folder; in ``eval`` mode, on the CPU.

        Raises:
            NotFoundError: there is no such artifact.
            IntegrityError: files are missing, damaged, or do not fit each other.
        """
        folder = Path(folder)
        folder = folder / KIND if (folder / KIND).is_dir() else folder
        manifest = open_verified(folder, kind=KIND)
        where = folder / "config.json"
        data = read_json(where)
        if not isinstance(data, dict) or OWN not in data:
            raise IntegrityError(f"says nothing under {OWN!r}", where=str(where))
        own = CrossEncoderConfig.parse(data[OWN], where=str(where))
        pretrained = backbones.load(str(folder), with_head=False)
        pairs = PairTokenizer(pretrained.tokenizer, own.pairs)
        model = cls(pretrained.backbone, pairs, pooled=own.pooled, readout=own.readout)
        try:
            with safe_open(folder / WEIGHTS, "pt") as weights:
                for prefix, module in (("head", model.head), ("similarity", model.similarity)):
                    if module is not None:
                        module.load_state_dict(
                            {name: weights.get_tensor(f"{prefix}.{name}") for name in module.state_dict()}
                        )
        except (OSError, SafetensorError, RuntimeError) as error:
            message = str(error).splitlines()[0]
            raise IntegrityError(
                f"holds no head that fits: {message}", where=str(folder / WEIGHTS)
            ) from error
        model.id = manifest.digest
        return model.eval()
