"""A public sentence encoder, as it is: papers, contexts and manuscripts as vectors without any training.

Any Hugging Face encoder whose sentence vector is pooled from its tokens' states and made a unit vector (Reimers and
Gurevych, 2019: "Sentence-BERT"). Weights are read from safetensors alone. How texts are read and pooled is what a
sentence-transformers folder says of itself, and what the recipe says over it.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import chain
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from safetensors.torch import save_file
from tokenizers.normalizers import Lowercase
from tokenizers.normalizers import Sequence as NormalizerSequence
from torch import Tensor
from torch.nn import functional

from cocite.artifacts import publish
from cocite.bounds import Location, TextPart
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.errors import InputError
from cocite.manifests import read_json
from cocite.nn import pretrained_transformers as trunks
from cocite.nn.precision import inference_dtype
from cocite.protocols import Query
from cocite.systems.sentence_encoder.folders import FolderSettings, Pooling, read_folder
from cocite.text.gaps import strip_marks
from cocite.verification import open_verified

KIND = "sentence"
WEIGHTS = "model.safetensors"
SETTINGS = "sentence.json"
MAX_TOKENS = 8192
"""Tokens of a text that are ever read, where the encoder could read more."""
TOKENS = 8192
"""Tokens of one forward pass, padding included."""


class SentenceSettings(Settings):
    """How texts become vectors. The defaults are those of artifacts that do not say."""

    max_tokens: int = Field(256, ge=8, le=MAX_TOKENS)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    pooling: Pooling = "mean"
    """How the states of a text's tokens become one vector."""
    query_prompt: TextPart = ""
    """What stands before contexts and before manuscripts that ask."""
    document_prompt: TextPart = ""
    """What stands before papers, and before manuscripts where they are compared as papers."""
    separator: TextPart = ". "
    """What stands between title and abstract."""
    lower_case: bool = False
    """Whether the case of texts is lowered, whatever the tokenizer does."""


class SentenceRecipe(Settings):
    """Which public encoder becomes a member of a model folder. Nothing is trained.

    What is null is as a sentence-transformers folder says; without its ``modules.json``: 256 tokens, the mean, no
    prompts.
    """

    kind: Literal["sentence"] = "sentence"
    encoder: Location = "sentence-transformers/all-MiniLM-L6-v2"
    """A name on the Hugging Face hub, or a folder with ``config.json``, safetensors and a tokenizer."""
    max_tokens: int | None = Field(None, ge=8, le=MAX_TOKENS)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    pooling: Pooling | None = None
    """How the states of a text's tokens become one vector."""
    query_prompt: TextPart | None = None
    """What stands before contexts and before manuscripts that ask."""
    document_prompt: TextPart | None = None
    """What stands before papers, and before manuscripts where they are compared as papers."""
    separator: TextPart = ". "
    """What stands between title and abstract; SPECTER reads ``[SEP]``."""
    normalize: bool = False
    """Compare vectors by their cosine where the folder says dot product or a distance; else such a folder is refused.
    Vectors are unit vectors in any case."""


class SentenceEncoder:
    """Papers and queries as vectors; a local query has two, its context's and its manuscript's.

    Args:
        model: the Hugging Face encoder.
        tokenizer: its tokenizer.
        settings: how texts are read.
        id_: see below.
        dtype: the precision to compute in; None: the quickest here.

    Attributes:
        id: fingerprint of the artifact.
        dimension: d.
        dtype: the precision it computes in; vectors are fp32 all the same.
    """

    name = "sentence"

    def __init__(
        self,
        model: torch.nn.Module,
        tokenizer: Any,
        settings: SentenceSettings,
        id_: str = "",
        *,
        dtype: torch.dtype | None = None,
    ) -> None:
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.dtype = dtype or inference_dtype(self.device)
        self.model: Any = model.eval().to(self.device, self.dtype)
        self.tokenizer, self.settings, self.id = tokenizer, settings, id_
        if settings.lower_case:
            backend = tokenizer.backend_tokenizer
            steps = [Lowercase(), *filter(None, [backend.normalizer])]
            backend.normalizer = NormalizerSequence(steps)

    @property
    def dimension(self) -> int:
        """d."""
        return int(self.model.config.hidden_size)

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors of title and abstract; zero for a paper that has neither."""
        pairs = zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
        texts = [self._document(title or "", abstract or "") for title, abstract in pairs]
        return self.encode(texts, self.settings.document_prompt)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors: of the context of a local query, of title and abstract of a global one."""
        texts = [
            strip_marks(query.context) if query.is_local else self._document(query.title, query.abstract)
            for query in queries
        ]
        return self.encode(texts, self.settings.query_prompt)

    def encode_manuscripts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of the queries' titles and abstracts, as papers are encoded."""
        texts = [self._document(query.title, query.abstract) for query in queries]
        return self.encode(texts, self.settings.document_prompt)

    def _document(self, title: str, abstract: str) -> str:
        return self.settings.separator.join(filter(None, (title.strip(), abstract.strip())))

    @torch.inference_mode()
    def encode(self, texts: Sequence[str], prompt: str = "") -> NDArray[np.float32]:
        """(n, d) unit vectors of texts after a prompt; zero for an empty text.

        Texts of one length are computed together.
        """
        result = np.zeros((len(texts), self.dimension), np.float32)
        filled = np.array([i for i, text in enumerate(texts) if text.strip()], np.int64)
        if not len(filled):
            return result
        tokens = self.tokenizer(
            [prompt + texts[i] for i in filled],
            truncation=True,
            max_length=self.settings.max_tokens,
            return_attention_mask=False,
            return_token_type_ids=False,
        )["input_ids"]
        lengths = np.array([len(ids) for ids in tokens])
        order = np.argsort(lengths, kind="stable")
        flat = np.fromiter(chain.from_iterable(tokens[i] for i in order), np.int64, int(lengths.sum()))
        ends = np.concatenate([[0], np.cumsum(lengths[order])])
        for start, end in _batches(lengths[order]):
            mask = np.arange(lengths[order[end - 1]]) < lengths[order[start:end], None]
            ids = np.full(mask.shape, self.tokenizer.pad_token_id or 0, np.int64)
            ids[mask] = flat[ends[start] : ends[end]]
            vectors = self._forward(torch.from_numpy(ids), torch.from_numpy(mask))
            result[filled[order[start:end]]] = vectors.cpu().numpy()
        return result

    def _forward(self, ids: Tensor, mask: Tensor) -> Tensor:
        """(b, t) tokens and which of them are real -> (b, d) unit vectors in fp32."""
        ids, mask = ids.to(self.device), mask.to(self.device)
        states = self.model(input_ids=ids, attention_mask=mask.long()).last_hidden_state  # (b, t, d)
        return functional.normalize(_pool(states.float(), mask, self.settings.pooling), dim=1)


def _pool(states: Tensor, mask: Tensor, pooling: Pooling) -> Tensor:
    """(b, t, d) states of (b, t) tokens, the real ones first -> (b, d), each but for its length."""
    if pooling == "cls":
        return states[:, 0]
    if pooling == "lasttoken":
        return states[torch.arange(len(states), device=states.device), mask.sum(1) - 1]
    if pooling == "max":
        return states.masked_fill(~mask[:, :, None], -torch.inf).amax(1)
    weights = mask.float()
    if pooling == "weightedmean":
        weights *= torch.arange(1, states.shape[1] + 1, device=states.device)
    # A unit vector forgets the scale, so the sum serves as well as either mean.
    return (states * weights[:, :, None]).sum(1)


def _batches(lengths: NDArray[np.int64]) -> Iterator[tuple[int, int]]:
    """Ranges of texts, ascending in length, whose padded batch keeps to the budget of tokens."""
    start = 0
    for i, length in enumerate(lengths.tolist()):
        if i > start and (i + 1 - start) * length > TOKENS:
            yield start, i
            start = i
    yield start, len(lengths)


# -- saving and loading --------------------------------------------------------------------------------------


def save_sentence_encoder(folder: Path, recipe: SentenceRecipe, meta: dict[str, Any]) -> None:
    """Copy a public encoder's weights and tokenizer into an artifact, so that the model folder needs nothing else.

    Raises:
        CociteError: as :func:`cocite.nn.pretrained_transformers.load`.
        InputError: the encoder reads fewer tokens than it is to be given.
    """
    # A name is looked up by its weights first, whose loader explains best what a hub lacks.
    found = None if Path(recipe.encoder).is_dir() else trunks.load(recipe.encoder)
    said = read_folder(recipe.encoder)
    if found is None:
        found = trunks.load(str(Path(recipe.encoder, said.transformer if said else "")))
    settings = _settings(recipe, said, found)
    with publish(folder, kind=KIND, meta=meta, replace=True) as temporary:
        found.backbone.config.save_pretrained(temporary)
        found.tokenizer.save_pretrained(temporary)
        weights = {name: value.contiguous() for name, value in found.backbone.state_dict().items()}
        save_file(weights, temporary / WEIGHTS, {"format": "pt"})
        (temporary / SETTINGS).write_text(settings.model_dump_json(indent=1) + "\n", encoding="utf-8")


def _settings(
    recipe: SentenceRecipe, said: FolderSettings | None, found: trunks.PretrainedEncoder
) -> SentenceSettings:
    """What the recipe says, else the folder, else the defaults; refuses what would give other vectors."""
    limit = getattr(found.backbone.config, "max_position_embeddings", None) or MAX_TOKENS
    tokens = recipe.max_tokens
    if tokens is None and said is not None:
        tokens = min(said.max_tokens or found.tokenizer.model_max_length, limit, MAX_TOKENS)
    elif tokens is None:
        tokens = min(SentenceSettings().max_tokens, limit)
    elif tokens > limit:
        raise InputError(f"max_tokens = {tokens}, and the encoder reads {limit}", where=recipe.encoder)
    values: dict[str, Any] = {"max_tokens": tokens, "separator": recipe.separator}
    for name in ("pooling", "query_prompt", "document_prompt"):
        given = getattr(recipe, name)
        if given is not None or said is not None:
            values[name] = getattr(said, name) if given is None else given
    if said is not None:
        values["lower_case"] = said.lower_case
        scaled = said.similarity in ("dot", "euclidean") and not said.normalize
        if (scaled or said.similarity == "manhattan") and not recipe.normalize:
            raise InputError(
                f"compares vectors by {said.similarity}, and an index compares unit vectors by their cosine",
                where=recipe.encoder,
                hint="pass normalize=true to compare them by cosine all the same",
            )
        if not said.include_prompt and (values["query_prompt"] or values["document_prompt"]):
            raise InputError(
                "its module Pooling leaves out the tokens of prompts, which is not supported",
                where=recipe.encoder,
                hint='pass query_prompt="" and document_prompt="" to do without prompts',
            )
    return SentenceSettings.parse(values, where=recipe.encoder)


def load_sentence_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> SentenceEncoder:
    """Load the encoder of an artifact, to compute in a given precision or in the quickest one here.

    Raises:
        CociteError: no such artifact, or files that are missing, damaged or do not fit each other.
    """
    folder = Path(folder)
    manifest = open_verified(folder, kind=KIND)
    settings = SentenceSettings.parse(read_json(folder / SETTINGS), where=str(folder / SETTINGS))
    found = trunks.load(str(folder))
    return SentenceEncoder(found.backbone, found.tokenizer, settings, manifest.digest, dtype=dtype)
