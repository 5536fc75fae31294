"""Encodes papers, contexts and manuscripts with a public sentence encoder.

Any Hugging Face encoder will do whose sentence vector is pooled from its tokens' states and scaled to unit length
(Reimers and Gurevych 2019). Weights are read from safetensors alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import Field
from tokenizers.normalizers import Lowercase
from tokenizers.normalizers import Sequence as NormalizerSequence

from cocite.bounds import TextPart
from cocite.config import Settings
from cocite.corpus.store import Corpus
from cocite.manifests import read_json
from cocite.nn import pretrained_transformers as backbones
from cocite.nn.layer_flops import layer_flops
from cocite.protocols import Embedding, Query
from cocite.systems.sentence_encoder.forward import fastest_dtype, forward_of
from cocite.systems.sentence_encoder.pooling import Pooling
from cocite.text.gaps import strip_marks
from cocite.text.token_lists import TokenLists
from cocite.verification import open_verified

EncoderPrecision = Literal["auto", "float32", "bfloat16", "int8"]
"""In which numbers matrices are multiplied; ``auto``: what is fastest on this machine by enough to be worth it."""
KIND = "sentence"
SETTINGS = "sentence.json"
MAX_TOKENS = 8192
"""Most tokens of a text that are read, even by an encoder that can read more."""


class SentenceSettings(Settings):
    """How texts become vectors. The defaults apply to artifacts without the setting.

    Example:
        >>> SentenceSettings(pooling="cls", query_prompt="query: ").max_tokens
        256
    """

    max_tokens: int = Field(256, ge=8, le=MAX_TOKENS)
    """Tokens of a text that are read, the special ones included; what is longer is cut."""
    pooling: Pooling = "mean"
    """How the states of a text's tokens become one vector."""
    query_prompt: TextPart = ""
    """Text put before contexts, and before manuscripts as queries."""
    document_prompt: TextPart = ""
    """Text put before papers, and before manuscripts where they are compared as papers."""
    separator: TextPart = ". "
    """Text put between title and abstract."""
    lower_case: bool = False
    """Whether texts are lower-cased before the tokenizer reads them."""
    precision: EncoderPrecision = "auto"
    """Of matrix products. int8 is of dense layers alone, in BERT's family on a CPU; float32 gives the same vectors on
    all machines, up to 1e-5."""


class SentenceEncoder:
    """Maps papers and queries to vectors; a local query has two, its context's and its manuscript's.

    Args:
        model: the Hugging Face encoder, in fp32. The sentence encoder owns it, and may take it apart.
        tokenizer: its tokenizer.
        settings: how texts are read.
        id_: fingerprint of the artifact.
        dtype: the precision to compute in, ``torch.int8`` for dense layers in integers; None: that of the settings.

    Attributes:
        id: fingerprint of the artifact.
        dimension: d.
        reads_queries_as_papers: whether a global query has the vector of its manuscript as a paper: prompts are equal.
        dtype: the precision it computes in; vectors are fp32 in any case.
        forward: computes the vectors of tokens.

    Example:
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> tokenizer = train_wordpiece(lambda: ["graph parsing", "neural parsing"], size=60)
        >>> size = {"hidden_size": 16, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 32}
        >>> bert = BertModel(BertConfig(vocab_size=len(tokenizer), **size))
        >>> encoder = SentenceEncoder(bert, tokenizer, SentenceSettings(max_tokens=16), dtype=torch.float32)
        >>> vectors = encoder.encode(["graph parsing", "graph parsing", ""])
        >>> (vectors @ vectors.T).round(3).tolist()  # cosines; an empty text has the vector 0
        [[1.0, 1.0, 0.0], [1.0, 1.0, 0.0], [0.0, 0.0, 0.0]]
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
        chosen = None if settings.precision == "auto" else getattr(torch, settings.precision)
        self.dtype: torch.dtype = dtype or chosen or fastest_dtype(model, self.device)
        self.tokenizer, self.settings, self.id = tokenizer, settings, id_
        self.reads_queries_as_papers = settings.query_prompt == settings.document_prompt
        config: Any = model.config
        self._config, self.dimension = config, int(config.hidden_size)
        # Where the tokenizer has no padding any token will do, for the mask hides it.
        pad = tokenizer.pad_token_id or 0
        self.forward = forward_of(
            model.eval(), settings.pooling, device=self.device, dtype=self.dtype, pad=pad
        )
        if settings.lower_case:
            backend = tokenizer.backend_tokenizer
            steps = [Lowercase(), *filter(None, [backend.normalizer])]
            backend.normalizer = NormalizerSequence(steps)

    def encode_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> NDArray[np.float32]:
        """(n, d) unit vectors of title and abstract; zero for a paper that has neither."""
        return self.embed_papers(corpus, rows).vectors

    def embed_papers(self, corpus: Corpus, rows: NDArray[np.int32]) -> Embedding:
        """What :meth:`encode_papers` returns, with its tokens and the operations of its layers."""
        pairs = zip(corpus.papers.take("title", rows), corpus.papers.take("abstract", rows), strict=True)
        texts = [self._document(title or "", abstract or "") for title, abstract in pairs]
        return self._embed(texts, self.settings.document_prompt)

    def encode_queries(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors: of the context of a local query, of title and abstract of a global one."""
        return self.encode(self._query_texts(queries), self.settings.query_prompt)

    def _query_texts(self, queries: Sequence[Query]) -> list[str]:
        return [
            strip_marks(query.context) if query.is_local else self._document(query.title, query.abstract)
            for query in queries
        ]

    @property
    def max_tokens(self) -> int:
        """Tokens of a text that are read, the special ones and a prompt's included."""
        return self.settings.max_tokens

    def query_lengths(self, queries: Sequence[Query]) -> NDArray[np.int64]:
        """(Q,) tokens of the queries before they are cut, the special ones and a prompt's included."""
        prompt = self.settings.query_prompt
        tokens = self.tokenizer([prompt + text for text in self._query_texts(queries)])["input_ids"]
        return np.array([len(ids) for ids in tokens], np.int64)

    def encode_manuscripts(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, d) unit vectors of the queries' titles and abstracts, as papers are encoded."""
        texts = [self._document(query.title, query.abstract) for query in queries]
        return self.encode(texts, self.settings.document_prompt)

    def _document(self, title: str, abstract: str) -> str:
        return self.settings.separator.join(filter(None, (title.strip(), abstract.strip())))

    def encode(self, texts: Sequence[str], prompt: str = "") -> NDArray[np.float32]:
        """(n, d) unit vectors of texts after a prompt; zero for an empty text, or one without a token."""
        return self._embed(texts, prompt).vectors

    def _embed(self, texts: Sequence[str], prompt: str) -> Embedding:
        lengths = np.zeros(0, np.int64)
        result = np.zeros((len(texts), self.dimension), np.float32)
        filled = np.array([i for i, text in enumerate(texts) if text.strip()], np.int64)
        if len(filled):
            tokens = self.tokenizer(
                [prompt + texts[i] for i in filled],
                truncation=True,
                max_length=self.settings.max_tokens,
                return_attention_mask=False,
                return_token_type_ids=False,
            )["input_ids"]
            lists = TokenLists.of(tokens)
            # A tokenizer without special tokens may make none of signs that it leaves out.
            some = np.flatnonzero(lists.counts)
            result[filled[some]] = self.forward.vectors(lists.take(some))
            lengths = lists.counts
        return Embedding(result, int(lengths.sum()), self._flops(lengths))

    def _flops(self, lengths: NDArray[np.int64]) -> float:
        """Operations of the layers over texts of these lengths; 0 where the model does not say how wide they are."""
        inner = getattr(self._config, "intermediate_size", None)
        if inner is None:
            return 0.0
        squares = float(np.square(lengths, dtype=np.float64).sum())
        layer = layer_flops(float(lengths.sum()), squares, hidden=self.dimension, inner=inner)
        return float(self._config.num_hidden_layers * layer)


def load_sentence_encoder(folder: str | Path, *, dtype: torch.dtype | None = None) -> SentenceEncoder:
    """Load the encoder of an artifact, to compute in a given precision or in that of its settings.

    Raises:
        CociteError: there is no such artifact, or files are missing, damaged or do not fit each other.
    """
    folder = Path(folder)
    manifest = open_verified(folder, kind=KIND)
    settings = SentenceSettings.parse(read_json(folder / SETTINGS), where=str(folder / SETTINGS))
    pretrained = backbones.load(str(folder))
    return SentenceEncoder(pretrained.backbone, pretrained.tokenizer, settings, manifest.digest, dtype=dtype)
