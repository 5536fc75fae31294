"""Training HAtten: many candidates at once, or the triplets of the paper (Gu et al. 2022, sections 4.3 and 5)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

from cocite.corpus.csr import CSR
from cocite.protocols import NO_ROW
from cocite.sampling.draws import uniform
from cocite.sampling.neighbours import nearest
from cocite.systems.hatten.encoder import embed, save_hatten
from cocite.systems.hatten.examples import NONE, Texts
from cocite.systems.hatten.losses import triplet_losses
from cocite.systems.hatten.mining import Forbidden, Mined, mine, overlapping
from cocite.systems.hatten.network import Documents, Hatten
from cocite.systems.hatten.recipe import HattenRecipe
from cocite.text.paragraph_reader import ParagraphReader
from cocite.text.paragraphs import SPECIAL
from cocite.training.engine.flops import layer_flops
from cocite.training.engine.task import Examples
from cocite.training.engine.world import World
from cocite.training.gaps import Gaps
from cocite.training.measure import ranking_metrics
from cocite.training.periods import Periods


@dataclass(frozen=True)
class Drawn:
    """The queries of some examples, and the papers that they are set against.

    Attributes:
        contexts: (q,) numbers of training contexts; citing papers are ``gaps.citing`` of them.
        read: (q,) whether a query is read with its context.
        owner: (q,) the example each belongs to.
        pair: (p,) query of each citation, ascending; each query has one or more.
        cited: (p,) paper of each citation.
        mined: (q, m) papers, ``NO_ROW`` where there is none.
        relevant: (q, m) bool, which of them the text speaks for.
        random: (q, r) papers.
        papers: (c,) all of these, distinct, ascending.
    """

    contexts: NDArray[np.int64]
    read: NDArray[np.bool_]
    owner: NDArray[np.int64]
    pair: NDArray[np.int64]
    cited: NDArray[np.int32]
    mined: NDArray[np.int32]
    relevant: NDArray[np.bool_]
    random: NDArray[np.int32]
    papers: NDArray[np.int32]


@dataclass(frozen=True)
class Batch:
    """A piece of a step: its documents are the drawn queries, then the drawn papers; and whether attention is used."""

    documents: Documents
    drawn: Drawn
    attend: bool = True


class HattenTask:
    """What both objectives share; see :class:`~cocite.training.engine.task.Task`. An example is a few contexts of one
    citing paper.

    Args:
        recipe: settings.
        periods: what is known, and who tunes.
        reader: numbers the words.
        vectors: (W, d) word vectors to begin with.
    """

    metric = "R@100"

    def __init__(
        self, recipe: HattenRecipe, periods: Periods, reader: ParagraphReader, vectors: NDArray[np.float32]
    ) -> None:
        torch.manual_seed(recipe.training.seed)
        self.recipe, self.reader = recipe, reader
        corpus = periods.history.corpus
        self.gaps = Gaps.known(periods.history)
        self.dev = Gaps.sample(corpus, periods.dev, recipe.dev_contexts)
        positions = np.concatenate([self.gaps.positions, self.dev.positions])
        self.texts = Texts(corpus, positions, reader, recipe.model)
        self.forbidden = Forbidden(periods.history)
        self.mined: Mined | None = None
        self.model = Hatten(reader.size, recipe.model)
        self.model.begin_with(torch.from_numpy(vectors), word_weights(reader))
        self.model.words.weight.requires_grad_(recipe.words.trained)
        self._bundles: tuple[int, CSR] = (-1, CSR.build([], [], 0))

    # -- examples ---------------------------------------------------------------------------------------------

    def bundles(self, epoch: int) -> CSR:
        """For each example of an epoch, its contexts."""
        if self._bundles[0] != epoch:
            size = self.recipe.objective.contexts
            self._bundles = (epoch, self.gaps.bundles(size, seed=self.recipe.training.seed, epoch=epoch))
        return self._bundles[1]

    def lengths(self, epoch: int) -> NDArray[np.int64]:
        """(n,) words of each example's contexts, citing paper, cited papers, and of as many more as are drawn."""
        bundles, texts, settings = self.bundles(epoch), self.texts, self.recipe.objective
        papers = texts.lengths(texts.parts_of_papers(np.arange(texts.papers)))
        citing = self.gaps.citing
        queries = texts.lengths(texts.parts_of_queries(citing, np.arange(len(citing)))) - papers[citing]
        owner, cited = self.gaps.cited.pairs()
        queries = queries + np.bincount(owner, papers[cited], minlength=len(queries)).astype(np.int64)
        queries += int((settings.mined + settings.random) * papers.mean())
        example, contexts = bundles.pairs()
        total = np.bincount(example, queries[contexts], minlength=len(bundles))
        return total.astype(np.int64) + papers[citing[bundles.indices[bundles.indptr[:-1]]]]

    def draw(self, examples: Examples, epoch: int) -> Drawn:
        """Queries and papers of some examples: a function of seed, epoch, their numbers, and what was last mined."""
        settings = self.recipe.objective
        owner, found = self.bundles(epoch).gather(examples)
        contexts = found.astype(np.int64)
        numbers = uniform(self.recipe.training.seed, epoch, contexts, 1 + settings.mined + settings.random)
        pair, cited = self.gaps.cited.gather(contexts)
        mined = np.full((len(contexts), settings.mined), NO_ROW, np.int32)
        relevant = np.zeros(mined.shape, bool)
        if self.mined is not None and settings.mined:
            mined, relevant = self.mined.draw(contexts, numbers[:, 1 : 1 + settings.mined])
        random = (numbers[:, 1 + settings.mined :] * self.texts.papers).astype(np.int32)
        papers = np.unique(np.concatenate([cited, mined.ravel(), random.ravel()]))
        read = numbers[:, 0] >= settings.context_dropout
        return Drawn(contexts, read, owner, pair, cited, mined, relevant, random, papers[papers != NO_ROW])

    def collate(self, examples: Examples, epoch: int) -> Batch:
        """The documents of some examples."""
        drawn = self.draw(examples, epoch)
        contexts = np.where(drawn.read, drawn.contexts, NONE)
        queries = self.texts.parts_of_queries(self.gaps.citing[drawn.contexts], contexts)
        papers = self.texts.parts_of_papers(drawn.papers)
        attend = epoch >= self.recipe.objective.bag_epochs
        return Batch(self.texts.documents(queries, papers), drawn, attend)

    # -- what the loop asks besides ---------------------------------------------------------------------------

    def vectors(
        self, model: nn.Module, world: World, citing: NDArray[np.int32], contexts: NDArray[np.int64] | None
    ) -> NDArray[np.float32]:
        """(n, d) vectors of queries, or of papers where no contexts are given; each rank computes its share."""
        mine = np.arange(len(citing))[world.share(len(citing))]
        nothing = np.zeros((0, 3), np.int64)

        def documents(some: NDArray[np.int64]) -> Documents:
            if contexts is None:
                return self.texts.documents(nothing, self.texts.parts_of_papers(citing[some]))
            return self.texts.documents(self.texts.parts_of_queries(citing[some], contexts[some]), nothing)

        found = embed(model, documents, mine, self.recipe.model.dimension, world.device)
        return world.concatenate(torch.from_numpy(found).to(world.device)).cpu().numpy()

    def evaluate(self, model: nn.Module, world: World) -> dict[str, float]:
        """MRR and recall of the dev contexts, among all papers but the citing one."""
        papers = self.vectors(model, world, np.arange(self.texts.papers, dtype=np.int32), None)
        contexts = len(self.gaps) + np.arange(len(self.dev))
        queries = self.vectors(model, world, self.dev.citing, contexts)
        with torch.autocast(world.device.type, enabled=False):
            found = nearest(queries, papers, 1000, exclude=self.dev.citing)
        numbers = np.arange(len(queries), dtype=np.int32)
        metrics = {"MRR": ranking_metrics(found, numbers, self.dev.cited)["MRR"]}
        for depth in (10, 100, 1000):
            metrics[f"R@{depth}"] = ranking_metrics(found.top(depth), numbers, self.dev.cited)["recall"]
        return metrics

    def refresh(self, model: nn.Module, world: World, step: int) -> None:  # noqa: ARG002
        """Mine each context's papers with the present weights, if any are drawn."""
        settings = self.recipe.objective
        if not settings.mined:
            return
        papers = self.vectors(model, world, np.arange(self.texts.papers, dtype=np.int32), None)
        mine_ = np.arange(len(self.gaps))[world.share(len(self.gaps))]
        citing = self.gaps.citing[mine_]
        queries = self.vectors(model, World(device=world.device), citing, mine_)
        with torch.autocast(world.device.type, enabled=False):
            rows = mine(queries, citing, papers, self.forbidden, settings.depth)
        rows = world.concatenate(torch.from_numpy(rows).to(world.device)).cpu().numpy()
        self.mined = Mined(rows, self.relevant(rows))

    def relevant(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(E, K) which mined papers the text speaks for."""
        return np.zeros(rows.shape, bool)

    def state(self) -> Mapping[str, Tensor]:
        """The mined papers."""
        if self.mined is None:
            return {}
        return {"rows": torch.from_numpy(self.mined.rows), "relevant": torch.from_numpy(self.mined.relevant)}

    def load_state(self, state: Mapping[str, Tensor]) -> None:
        """Take the mined papers back."""
        self.mined = Mined(state["rows"].numpy(), state["relevant"].numpy()) if state else None

    def flops(self, batch: Batch) -> float:
        """Of both levels, and of the pooling that ends each."""
        model = self.recipe.model
        width = {"hidden": model.dimension, "inner": model.feed_forward}
        forward = 0.0
        for lengths in (batch.documents.lengths, (batch.documents.parts > 0).sum(1)):
            tokens, squares = float(lengths.sum()), float(lengths.double().square().sum())
            pooled = 4 * model.heads * model.dimension * tokens + 4 * model.dimension**2 * len(lengths)
            forward += layer_flops(tokens, squares, **width) + pooled
        return 3 * forward * (model.attention and (batch.attend or not model.bag))

    def export(self, folder: Path, meta: Mapping[str, Any]) -> None:
        """Write the encoder."""
        save_hatten(folder, self.model, self.reader, meta)


class InBatchTask(HattenTask):
    """Each cited paper against all papers of the step; see :class:`~cocite.training.engine.task.ContrastiveTask`."""

    def __init__(
        self, recipe: HattenRecipe, periods: Periods, reader: ParagraphReader, vectors: NDArray[np.float32]
    ) -> None:
        super().__init__(recipe, periods, reader, vectors)
        counts = np.bincount(self.gaps.cited.indices, minlength=self.texts.papers)
        share = np.maximum(counts, 0.5) / max(int(counts.sum()), 1)
        self._log_share = torch.from_numpy(np.log(share).astype(np.float32))

    def embed(self, model: nn.Module, batch: Batch) -> Tensor:
        """(q + c, d) vectors of a piece's queries and papers."""
        vectors: Tensor = model(batch.documents, batch.attend)
        return vectors

    def contrast(self, vectors: Tensor, pieces: list[Examples], epoch: int) -> Tensor:
        """(b,) for each example, the softmax losses of its citations."""
        return self._losses(vectors, [self.draw(piece, epoch) for piece in pieces])

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the losses of a batch that is a step by itself."""
        return self._losses(self.embed(model, batch), [batch.drawn])

    def _losses(self, vectors: Tensor, drawn: list[Drawn]) -> Tensor:
        queries, papers, start = [], [], 0
        for piece in drawn:
            middle, end = start + len(piece.contexts), start + len(piece.contexts) + len(piece.papers)
            queries.append(np.arange(start, middle))
            papers.append(np.arange(middle, end))
            start = end
        # A paper of several pieces was embedded in each of them: the first vector stands for it.
        rows, first = np.unique(np.concatenate([piece.papers for piece in drawn]), return_index=True)
        citing = np.concatenate([self.gaps.citing[piece.contexts] for piece in drawn])
        before = np.cumsum([0, *(len(piece.contexts) for piece in drawn)])
        examples = np.cumsum([0, *(int(piece.owner[-1]) + 1 for piece in drawn)])
        pair = np.concatenate([piece.pair + b for piece, b in zip(drawn, before[:-1], strict=True)])
        owner = np.concatenate([piece.owner + e for piece, e in zip(drawn, examples[:-1], strict=True)])
        target = np.searchsorted(rows, np.concatenate([piece.cited for piece in drawn]))
        device = vectors.device
        similar = (
            vectors[_to(np.concatenate(queries), device)]
            @ vectors[_to(np.concatenate(papers)[first], device)].T
        )
        logits = self.recipe.objective.scale * similar  # (Q, C)
        if self.recipe.objective.correction:
            logits = logits - self.recipe.objective.correction * self._log_share[rows].to(device)
        # Of several papers that a context cites, each is told from the others' negatives, not from the others.
        left_out = self.forbidden.table(citing, rows)[pair]
        left_out[np.arange(len(pair)), target] = False
        logits = logits[_to(pair, device)].masked_fill(_to(left_out, device), -torch.inf)
        losses = functional.cross_entropy(logits, _to(target, device), reduction="none")  # (P,)
        # A context counts as one however many it cites, and all contexts of a step alike.
        weight = 1 / np.bincount(pair)[pair] * examples[-1] / before[-1]
        result = losses.new_zeros(int(examples[-1]))
        return result.index_add(0, _to(owner[pair], device), losses * _to(weight.astype(np.float32), device))


class TripletTask(HattenTask):
    """The triplets of the paper: for each context its cited paper against mined ones, and of the mined ones those that
    its text speaks for against one at random (section 4.3)."""

    def relevant(self, rows: NDArray[np.int32]) -> NDArray[np.bool_]:
        """(E, K) the mined papers whose words overlap most with the query's, context included."""
        texts = self.texts
        numbers = np.arange(len(self.gaps))
        queries = texts.words(texts.parts_of_queries(self.gaps.citing, numbers))
        papers = texts.words(texts.parts_of_papers(np.arange(texts.papers)))
        return overlapping(rows, queries, papers, self.reader.size, self.recipe.objective.overlap)

    def loss(self, model: nn.Module, batch: Batch) -> Tensor:
        """(b,) the mean loss of each example's triplets."""
        drawn = batch.drawn
        vectors: Tensor = model(batch.documents, batch.attend)
        device = vectors.device
        queries, papers = vectors[: len(drawn.contexts)], vectors[len(drawn.contexts) :]
        query, positive, negative = self._triplets(drawn)
        at = [_to(np.searchsorted(drawn.papers, rows), device) for rows in (positive, negative)]
        of = queries[_to(query, device)]
        losses = triplet_losses(
            (of * papers[at[0]]).sum(1), (of * papers[at[1]]).sum(1), margin=self.recipe.objective.margin
        )
        owner = drawn.owner[query]
        count = np.maximum(np.bincount(owner, minlength=int(drawn.owner[-1]) + 1), 1)
        weight = _to((1 / count[owner]).astype(np.float32), device)
        return losses.new_zeros(len(count)).index_add(0, _to(owner, device), losses * weight)

    def _triplets(self, drawn: Drawn) -> tuple[NDArray[np.int64], NDArray[np.int32], NDArray[np.int32]]:
        """(T,) query, positive and negative paper of each triplet."""
        negatives = np.concatenate([drawn.mined, drawn.random], axis=1)  # (q, m + r)
        # Negative mining: what is cited, against what was mined or drawn.
        positive, negative = np.broadcast_arrays(drawn.cited[:, None], negatives[drawn.pair])
        query = np.broadcast_to(drawn.pair[:, None], positive.shape)
        parts = [(query.ravel(), positive.ravel(), negative.ravel())]
        if drawn.random.size and drawn.mined.size:
            # Positive mining: what was mined and the text speaks for, against what was drawn.
            of, which = np.nonzero(drawn.relevant)
            near, far = np.broadcast_arrays(drawn.mined[of, which][:, None], drawn.random[of])
            parts.append((np.broadcast_to(of[:, None], near.shape).ravel(), near.ravel(), far.ravel()))
        query, positive, negative = (np.concatenate(column) for column in zip(*parts, strict=True))
        usable = ~self.forbidden.at(self.gaps.citing[drawn.contexts[query]], negative) & (
            positive != negative
        )
        return query[usable], positive[usable], negative[usable]


def word_weights(reader: ParagraphReader) -> Tensor:
    """(W,) inverse document frequencies of a reader's words, 1 on average; marks and unknown words have 1."""
    counts = reader.vocabulary.counts
    idf = reader.vocabulary.inverse_document_frequency(int(counts.max(initial=1)))
    weights = np.ones(reader.size, np.float32)
    weights[SPECIAL : SPECIAL + len(idf)] = idf / max(float(idf.mean()), 1e-6) if len(idf) else idf
    return torch.from_numpy(weights)


def _to(array: NDArray[Any], device: torch.device) -> Tensor:
    return torch.from_numpy(np.ascontiguousarray(array)).to(device)
