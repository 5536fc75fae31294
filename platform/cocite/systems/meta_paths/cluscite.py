"""ClusCite: interest groups, each with its own weights of meta-paths and its own authorities (Ren et al., 2014).

A query belongs to each of K groups as much as its words, authors and venue do: its membership is the sum over these
three kinds, and keyphrases where papers have them, of the mean over its objects of the kind. The score of a paper is

    s(q, p) = sum over k of  membership(q, k) * (sum over l of  weight(k, l) * path(l, q, p)  +  authority(p, k)),

and what is not negative is learned together: memberships of objects, weights and authorities lower half the squared
differences of the scores from 1 where q cites p and 0 where it does not, with a squared penalty of all three, and one
of authorities that differ from the mean of those of the paper's authors and venue, each of which has the mean authority
of its papers.

Citeomatic's text says that nodes of a graph of terms, authors and venues are clustered, and no more; the abstract of
Ren et al. says what is learned, and that it is by one problem. Ours are the exact form above, the paths (those of
L2-LR), the pairs (papers that are held out, as L2-LR has them), and how it is solved: projected gradient steps for one
of the three after the other, none of which raises the cost.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from cocite.bounds import Dimension, Epochs, Factor
from cocite.corpus.csr import CSR
from cocite.corpus.history import History
from cocite.protocols import Query, Ranking
from cocite.retrieval.dense_search import search_dense
from cocite.retrieval.index.index import Index
from cocite.systems.meta_paths.features import MetaPathFeatures
from cocite.systems.meta_paths.l2_lr import L2LrSettings, held_out_examples
from cocite.text.fields import METADATA, TEXT, Bags, FieldEncoder, FieldSettings

SOURCES = ("authors", "venue")
"""Objects between which papers' authorities spread."""
FIRST_STEP, HALVINGS = 1e-4, 40
"""Length of a block's first step, and how often one is halved before its block is left as it is."""


class ClusCiteSettings(L2LrSettings):
    """How it is fitted.

    Example:
        >>> ClusCiteSettings(groups=50).sweeps
        60
    """

    groups: Dimension = 20
    """K, the number of interest groups."""
    penalty: Factor = 5.0
    """Weight of half the squares of memberships, weights and authorities."""
    spread: Factor = 1.0
    """Weight of half the squared differences of authorities from those around them."""
    sweeps: Epochs = 60
    """How often memberships, weights and authorities are each moved once."""


@dataclass(frozen=True)
class Blocks:
    """What is learned; none of it is negative.

    Attributes:
        memberships: (V, K) of objects: words, then each kind of metadata.
        weights: (K, F) of paths.
        authorities: (N, K) of papers.

    Example:
        >>> Blocks(torch.ones(5, 2), torch.ones(2, 3), torch.zeros(9, 2)).weights.shape
        torch.Size([2, 3])
    """

    memberships: Tensor
    weights: Tensor
    authorities: Tensor


@dataclass(frozen=True)
class Pairs:
    """What the cost is of.

    Attributes:
        objects: (Q, V) sparse: what each query's membership is made of.
        query: (P,) the query of each pair.
        paper: (P,) the paper of each pair.
        values: (P, F) paths.
        cited: (P,) 1 where the query cites the paper, else 0.
        below: (O, N) sparse: the mean over the papers of each author or venue.
        above: (N, O) sparse: the mean over the authors and the venue of each paper.

    Example:
        >>> one, first = torch.ones(1, 1), torch.tensor([0])
        >>> pairs = Pairs(one, first, first, values=one, cited=torch.tensor([1.0]), below=one, above=one)
        >>> cost(Blocks(one, one, 0 * one), pairs, penalty=0, spread=1).item()  # the path alone scores 1
        0.0
    """

    objects: Tensor
    query: Tensor
    paper: Tensor
    values: Tensor
    cited: Tensor
    below: Tensor
    above: Tensor


def cost(blocks: Blocks, pairs: Pairs, *, penalty: float, spread: float) -> Tensor:
    """The cost of memberships, weights and authorities.

    Args:
        blocks: all three.
        pairs: what the scores should be, and how authorities spread.
        penalty: of all three.
        spread: of authorities that differ from those around them.
    """
    members = (pairs.objects @ blocks.memberships)[pairs.query]
    scores = (members * (pairs.values @ blocks.weights.T + blocks.authorities[pairs.paper])).sum(1)
    around = pairs.above @ (pairs.below @ blocks.authorities)
    squares = sum(part.square().sum() for part in (blocks.memberships, blocks.weights, blocks.authorities))
    alone = (blocks.authorities - around).square().sum()
    return 0.5 * ((pairs.cited - scores).square().sum() + penalty * squares + spread * alone)


def descend(blocks: Blocks, of: Callable[[Blocks], Tensor], sweeps: int) -> tuple[Blocks, list[float]]:
    """Lower a cost by projected gradient steps of one block after the other; the cost after each step.

    Args:
        blocks: where it begins, none negative.
        of: the cost.
        sweeps: steps of each block.
    """
    steps = dict.fromkeys((field.name for field in fields(Blocks)), FIRST_STEP)
    costs = [float(of(blocks))]
    for _ in range(sweeps):
        for name in steps:
            here = getattr(blocks, name).detach().requires_grad_()
            [slope] = torch.autograd.grad(of(replace(blocks, **{name: here})), here)
            with torch.no_grad():
                for _halving in range(HALVINGS):
                    moved = (here - steps[name] * slope).clamp(min=0)
                    tried = replace(blocks, **{name: moved})
                    reached = float(of(tried))
                    # A step that is too long lowers the cost by less than this, or raises it.
                    if reached <= costs[-1] - (moved - here).square().sum() / (4 * steps[name]):
                        blocks = tried
                        costs.append(reached)
                        steps[name] *= 2
                        break
                    steps[name] /= 2
    return blocks, costs


def scaled(blocks: Blocks, pairs: Pairs) -> Blocks:
    """The same with weights and authorities of the scale whose scores fit best.

    A descent that begins with scores far above 1 ends where all is 0.
    """
    without = replace(pairs, cited=torch.zeros_like(pairs.cited))
    squares = 2 * cost(blocks, without, penalty=0, spread=0)  # of the scores
    # Half the squared differences from what is wanted has the product of both with the scores.
    product = 0.5 * (squares + pairs.cited.square().sum()) - cost(blocks, pairs, penalty=0, spread=0)
    scale = float(product / squares.clamp(min=1e-12))
    return replace(blocks, weights=blocks.weights * scale, authorities=blocks.authorities * scale)


@dataclass(frozen=True)
class ClusCite:
    """A fitted model.

    Attributes:
        fields: numbers the objects.
        names: of the paths.
        memberships: (V, K) of objects.
        weights: (K, F) of paths as they are.
        authorities: (N, K) of papers.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> settings = ClusCiteSettings(queries=40, groups=3, sweeps=5)
        >>> model = fit_cluscite(History.until(starter_corpus(), 2017), settings)
        >>> model.weights.shape == (3, len(model.names)), model.authorities.shape
        (True, (423, 3))
    """

    fields: FieldEncoder
    names: tuple[str, ...]
    memberships: NDArray[np.float64]
    weights: NDArray[np.float64]
    authorities: NDArray[np.float64]

    def members(self, queries: Sequence[Query]) -> NDArray[np.float64]:
        """(Q, K) memberships of queries."""
        objects = _objects(self.fields, self.fields.queries(queries))
        return np.asarray((objects @ torch.from_numpy(self.memberships)).numpy())


class ClusCiteRanker:
    """Ranks all papers by ClusCite, with the paths that an index's history knows.

    Args:
        index: with papers and history.
        model: the fitted model; a path that it has not seen counts nothing.
        fields: how much of a paper the paths read.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> corpus = starter_corpus()
        >>> known = History.until(corpus, 2018)
        >>> model = fit_cluscite(known, ClusCiteSettings(queries=40, groups=3, sweeps=5))
        >>> ranker = ClusCiteRanker(Index.build(corpus, known), model)
        >>> ranker.search([Query("q", title="Pre-training of transformers for language understanding")], 5).rows.shape
        (1, 5)
    """

    def __init__(self, index: Index, model: ClusCite, fields: FieldSettings | None = None) -> None:
        self.index, self.model = index, model
        self.fields = FieldEncoder.build(index.history, fields or FieldSettings(), metadata=True)
        self.features = MetaPathFeatures(index.history, self.fields)

    def scores(self, queries: Sequence[Query]) -> NDArray[np.float32]:
        """(Q, N) scores; ``-inf`` where a query may not retrieve a paper."""
        own = np.array([query.paper for query in queries], np.int32)
        members = self.model.members(queries)
        weights = dict(zip(self.model.names, (members @ self.model.weights).T, strict=True))  # name -> (Q,)
        total = (members @ self.model.authorities.T).astype(np.float32)
        for name, values in self.features.values(self.fields.queries(queries), own):
            if name in weights:
                total += weights[name][:, None].astype(np.float32) * values
        return self.index.forbid(total, queries)

    def search(self, queries: Sequence[Query], k: int) -> Ranking:
        """The ``k`` best papers of each query."""
        return search_dense(queries, k, len(self.index), self.scores)


def fit_cluscite(
    history: History, settings: ClusCiteSettings, seed: int = 0, fields: FieldSettings | None = None
) -> ClusCite:
    """Fit to the links of a training period: its latest papers are queries, whose links the paths do not know.

    Args:
        history: the training period.
        settings: of the fit.
        seed: of what is drawn: pairs, and where the descent begins.
        fields: how much of a paper is read.

    Raises:
        InputError: as :func:`~cocite.systems.meta_paths.l2_lr.fit_l2_lr`.
    """
    rng = np.random.default_rng([seed, 0])
    examples = held_out_examples(history, settings.queries, settings.negatives, rng, fields)
    known, encoder = examples.features.history, examples.features.fields
    scale = examples.values.astype(np.float64).std(axis=0)
    scale[scale == 0] = 1
    below, above = _sources(known, encoder)
    pairs = Pairs(
        objects=_objects(encoder, encoder.papers(history.corpus, examples.queries)),
        query=torch.from_numpy(examples.query),
        paper=torch.from_numpy(examples.paper.astype(np.int64)),
        values=torch.from_numpy(examples.values / scale),
        cited=torch.from_numpy(examples.cited.astype(np.float64)),
        below=below,
        above=above,
    )
    sizes = (pairs.objects.shape[1], len(scale), len(history.corpus))
    start = Blocks(
        # Of about 1 in all groups together for each kind of object, and different in each.
        memberships=torch.from_numpy(rng.random((sizes[0], settings.groups)) * 2 / settings.groups),
        weights=torch.from_numpy(rng.random((settings.groups, sizes[1])) * 0.01),
        authorities=torch.zeros(sizes[2], settings.groups, dtype=torch.float64),
    )
    found, _ = descend(
        start,
        lambda blocks: cost(blocks, pairs, penalty=settings.penalty, spread=settings.spread),
        settings.sweeps,
    )
    return ClusCite(
        encoder,
        examples.features.names,
        found.memberships.numpy(),
        found.weights.numpy() / scale,
        found.authorities.numpy(),
    )


def _objects(encoder: FieldEncoder, bags: Bags) -> Tensor:
    """(n, V) sparse: for each kind of object, the share of each of a paper's objects of the kind."""
    text = [bags[field].pairs() for field in TEXT]
    owners, entries = (np.concatenate(column) for column in zip(*text, strict=True))
    count = len(bags["title"])
    kinds = [(CSR.build(owners, entries, count), len(encoder.vocabularies["words"]))]
    kinds += [(bags[field], len(encoder.vocabularies[field])) for field in METADATA if field in bags]
    rows, columns, values, width = [], [], [], 0
    for bag, size in kinds:
        owner, entry = bag.pairs()
        rows.append(owner)
        columns.append(entry.astype(np.int64) + width)
        values.append(1 / bag.degrees[owner])
        width += size
    return _sparse(np.concatenate(rows), np.concatenate(columns), np.concatenate(values), (count, width))


def _sources(history: History, encoder: FieldEncoder) -> tuple[Tensor, Tensor]:
    """(O, N) and (N, O) sparse: means over the known papers of each author and venue, and over these of each paper."""
    bags = encoder.papers(history.corpus)
    rows, columns, width = [np.zeros(0, np.int64)], [np.zeros(0, np.int64)], 0
    for field in SOURCES:
        if field in bags:
            owner, entry = bags[field].pairs()
            known = history.citing[owner]
            rows.append(owner[known].astype(np.int64))
            columns.append(entry[known].astype(np.int64) + width)
            width += len(encoder.vocabularies[field])
    row, column = np.concatenate(rows), np.concatenate(columns)
    of_paper, of_source = (np.bincount(ends, minlength=1) for ends in (row, column))
    shape = (width, len(history.corpus))
    below = _sparse(column, row, 1 / of_source[column], shape)
    return below, _sparse(row, column, 1 / of_paper[row], shape[::-1])


def _sparse(
    rows: NDArray[np.integer],
    columns: NDArray[np.integer],
    values: NDArray[np.float64],
    shape: tuple[int, ...],
) -> Tensor:
    places = torch.from_numpy(np.stack([rows, columns]).astype(np.int64))
    return torch.sparse_coo_tensor(places, torch.from_numpy(values), shape, check_invariants=True).coalesce()
