"""The training task of the bi-encoder: each cited paper against all papers of the step.

In-batch negatives (Karpukhin et al. 2020, section 3.2): the papers that the other queries of a step cite. What the
citing paper cites elsewhere is no negative, nor is the citing paper itself.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.corpus.store import Corpus
from cocite.nn.layer_flops import layer_flops
from cocite.sampling.neighbours import nearest
from cocite.systems.bi_encoder import citations
from cocite.systems.bi_encoder.citations import CitationTokens, CitationTokenSettings
from cocite.systems.bi_encoder.network import BiEncoder
from cocite.systems.bi_encoder.recipe import BiEncoderRecipe
from cocite.text.pair_batch import PairBatch
from cocite.text.token_lists import TokenLists
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.forbidden_negatives import ForbiddenNegatives
from cocite.training.measure import ranking_metrics

__all__ = ["BiEncoderRecipe", "BiEncoderTask", "build"]

DEV_DEPTH = 100
"""Papers of a dev query's ranking."""


@dataclass(frozen=True)
class Batch:
    """A piece of a step.

    Attributes:
        texts: its q queries, then its c distinct cited papers.
        examples: (q,) the citations.
        papers: (c,) the cited papers, ascending.

    Example:
        >>> texts = PairBatch(torch.tensor([5, 6, 7]), torch.zeros(3, dtype=torch.int64), torch.arange(4), longest=1)
        >>> batch = Batch(texts, examples=np.array([0, 1]), papers=np.array([9]))  # two queries cite one paper
        >>> len(batch.texts) == len(batch.examples) + len(batch.papers)
        True
    """

    texts: PairBatch
    examples: NDArray[np.int64]
    papers: NDArray[np.int32]


class BiEncoderTask:
    """A :class:`~cocite.training.engine.task.ContrastiveTask`; an example is a citation.

    Args:
        recipe: settings.
        corpus: the papers.
        model: the network to train.
        tokens: the citations and all texts.

    Example:
        >>> import tempfile
        >>> from transformers import BertConfig, BertModel
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.text.wordpiece import train_wordpiece
        >>> shape = {"hidden_size": 8, "num_hidden_layers": 1, "num_attention_heads": 2, "intermediate_size": 16}
        >>> with tempfile.TemporaryDirectory() as folder:
        ...     tokenizer = train_wordpiece(lambda: ["neural retrieval", "neural parsing"], size=60)
        ...     _ = tokenizer.save_pretrained(folder)
        ...     BertModel(BertConfig(vocab_size=len(tokenizer), **shape)).save_pretrained(folder)
        ...     recipe = BiEncoderRecipe.parse({"encoder": folder, "texts": {"task": "global"}})
        ...     _ = citations.prepare(recipe.tokens, starter_corpus(), Path(folder, citations.KIND))
        ...     task = build(recipe, starter_corpus(), Path(folder))
        >>> task.loss(task.model, task.collate(np.arange(4), 0)).shape
        torch.Size([4])
    """

    metric = "R@10"

    def __init__(
        self, recipe: BiEncoderRecipe, corpus: Corpus, model: BiEncoder, tokens: CitationTokens
    ) -> None:
        self.recipe, self.model, self.tokens = recipe, model, tokens
        self.forbidden = ForbiddenNegatives(History.all(corpus), later=recipe.objective.later != "used")
        self._log_share = np.log(
            np.maximum(np.bincount(tokens.cited, minlength=len(corpus)), 0.5) / len(tokens.cited)
        ).astype(np.float32)
        self.candidates = _dev_candidates(tokens, len(corpus), recipe)

    # -- training -----------------------------------------------------------------------------------------------

    def lengths(self, epoch: int) -> NDArray[np.int64]:  # noqa: ARG002  (the same in every epoch)
        """(E,) tokens of each citation: its query and the cited paper."""
        tokens = self.tokens
        whole = tokens.context == citations.NO_CONTEXT
        own = np.asarray(tokens.papers.counts, np.int64)
        result = own[tokens.cited] + own[tokens.citing]
        if not whole.all():
            queries = np.asarray(tokens.contexts.counts, np.int64)[tokens.context[~whole]]
            result[~whole] = own[tokens.cited[~whole]] + queries
        return result

    def collate(self, examples: Examples, epoch: int) -> Batch:  # noqa: ARG002
        """The texts of some citations: queries, then the distinct papers that they cite."""
        tokens = self.tokens
        papers = np.unique(tokens.cited[examples])
        queries = tokens.queries(tokens.citing[examples], np.asarray(tokens.context[examples]))
        return Batch(packed([queries, tokens.papers.take(papers)]), examples, papers)

    def embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """(q + c, d) vectors of a piece's queries and papers."""
        vectors: Tensor = model(batch.texts)
        return vectors

    def contrast(self, vectors: Tensor, pieces: Sequence[Examples], epoch: int) -> Tensor:  # noqa: ARG002
        """(b,) the loss of each citation of a step."""
        return self._losses(vectors, [(piece, np.unique(self.tokens.cited[piece])) for piece in pieces])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [(batch.examples, batch.papers)])

    def _losses(self, vectors: Tensor, pieces: Sequence[tuple[Examples, NDArray[np.int32]]]) -> Tensor:
        """(b,) losses of a step, given the (R, d) vectors of its pieces one below the other."""
        parts: tuple[Tensor, ...] = vectors.split(  # type: ignore[no-untyped-call]
            [count for examples, papers in pieces for count in (len(examples), len(papers))]
        )
        # A paper of several pieces was embedded in each of them: its first vector is used.
        rows, first = np.unique(np.concatenate([papers for _, papers in pieces]), return_index=True)
        device = vectors.device
        papers = torch.cat(parts[1::2])[torch.from_numpy(first).to(device)]
        examples = np.concatenate([piece for piece, _ in pieces])
        target = np.searchsorted(rows, self.tokens.cited[examples])
        settings = self.recipe.objective
        logits = settings.scale * torch.cat(parts[::2]) @ papers.T  # (b, C)
        if settings.correction:
            logits = logits - settings.correction * torch.from_numpy(self._log_share[rows]).to(device)
        left_out = self.forbidden.table(self.tokens.citing[examples], rows)
        left_out[np.arange(len(examples)), target] = False
        logits = logits.masked_fill(torch.from_numpy(left_out).to(device), -torch.inf)
        return functional.cross_entropy(logits, torch.from_numpy(target).to(device), reduction="none")

    # -- the dev metric -----------------------------------------------------------------------------------------

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """MRR and recall of the dev queries among the dev candidates, without the citing paper."""
        dev = self.tokens.dev
        papers = self._vectors(model, world, self.tokens.papers.take(self.candidates))
        queries = self._vectors(model, world, self.tokens.queries(dev.citing, np.asarray(dev.contexts)))
        places = np.searchsorted(self.candidates, dev.citing)
        places = np.minimum(places, len(self.candidates) - 1)
        own = np.where(self.candidates[places] == dev.citing, places, -1).astype(np.int32)
        with torch.autocast(world.device.type, enabled=False):
            depth = min(DEV_DEPTH, len(self.candidates) - 1)
            ranking = nearest(queries, papers, depth, exclude=own, device=world.device)
        relevant = CSR(dev.cited.indptr, np.searchsorted(self.candidates, dev.cited.indices).astype(np.int32))
        numbers = np.arange(len(queries), dtype=np.int32)
        return {
            "MRR": ranking_metrics(ranking, numbers, relevant)["MRR"],
            "R@10": ranking_metrics(ranking.top(min(10, depth)), numbers, relevant)["recall"],
            "R@100": ranking_metrics(ranking, numbers, relevant)["recall"],
        }

    def _vectors(self, model: nn.Module, world: World, texts: TokenLists) -> NDArray[np.float32]:
        """(n, d) vectors of texts, in passes of ``training.tokens`` tokens; each rank computes its share."""
        share = np.arange(len(texts))[world.share(len(texts))]
        result = torch.zeros(len(share), self.model.backbone.config.hidden_size)
        order = np.argsort(-texts.counts[share], kind="stable")
        passes = np.cumsum(texts.counts[share[order]]) // self.recipe.training.tokens
        for part in np.split(order, np.flatnonzero(np.diff(passes)) + 1):
            if len(part):
                found = model(packed([texts.take(share[part])]).to(world.device))
                result[torch.from_numpy(part)] = found.float().cpu()
        whole: NDArray[np.float32] = world.concatenate(result.to(world.device)).cpu().numpy()
        return whole

    # -- mining, state and export ------------------------------------------------------------------------------

    def refresh(self, model: nn.Module, world: World, step: int) -> None:
        """Do nothing: this task mines nothing."""

    def state(self) -> Mapping[str, Tensor]:
        """Nothing: :meth:`refresh` makes nothing that a checkpoint would need."""
        return {}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Do nothing, as :meth:`state` has nothing."""

    def flops(self, batch: Batch) -> float:
        """Floating-point operations of the layers; 0 where the encoder does not say how wide they are."""
        config = self.model.backbone.config
        inner = getattr(config, "intermediate_size", None)
        if inner is None:
            return 0.0
        lengths = batch.texts.lengths.double()
        layer = layer_flops(
            float(lengths.sum()), float(lengths.square().sum()), hidden=config.hidden_size, inner=inner
        )
        return float(3 * config.num_hidden_layers * layer)

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder as a sentence-transformers folder, an artifact."""
        self.model.save(folder, meta)


def packed(parts: Sequence[TokenLists]) -> PairBatch:
    """Texts as one packed batch, part after part."""
    texts = TokenLists.stacked([TokenLists.joined([part]) for part in parts])
    ids = torch.from_numpy(TokenLists.joined([texts]).ids.astype(np.int64))
    offsets = torch.from_numpy(np.concatenate([[0], np.cumsum(texts.counts)]))
    # Single texts are pairs without a second half: all tokens are of type 0.
    return PairBatch(ids, torch.zeros_like(ids), offsets, int(texts.counts.max(initial=0)))


def _dev_candidates(tokens: CitationTokens, papers: int, recipe: BiEncoderRecipe) -> NDArray[np.int32]:
    """The papers that dev queries are ranked among, ascending: those that they cite, and others drawn with the seed."""
    cited = np.unique(tokens.dev.cited.indices)
    others = np.setdiff1d(np.arange(papers), cited)
    missing = min(max(recipe.dev_candidates - len(cited), 0), len(others))
    drawn = np.random.default_rng(recipe.training.seed).choice(others, missing, replace=False)
    return np.sort(np.concatenate([cited, drawn])).astype(np.int32)


def build(recipe: BiEncoderRecipe, corpus: Corpus, model_folder: Path) -> BiEncoderTask:
    """The task of a recipe, on the citations of the model folder.

    Args:
        recipe: settings.
        corpus: the papers.
        model_folder: has the citations as tokens.

    Raises:
        NotFoundError: the model folder has no citations, or there is no such encoder.
        InputError: the citations are of another corpus, or of another tokenizer.
    """
    torch.manual_seed(recipe.training.seed)
    model = BiEncoder.from_pretrained(
        recipe.encoder,
        pooling=recipe.pooling,
        max_tokens=recipe.texts.max_tokens,
        layers=recipe.layers,
        dropout=recipe.dropout,
    )
    settings = CitationTokenSettings.of(recipe.period, recipe.texts, recipe.encoder, model.tokenizer)
    return BiEncoderTask(recipe, corpus, model, citations.load(model_folder, corpus, settings))
