"""NNRank: how probable it is that a query cites a candidate (Citeomatic, section 4, Eq. 3 and Figure 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

import numpy as np
import torch
from numpy.typing import NDArray
from pydantic import model_validator
from torch import Tensor, nn
from torch.nn import functional

from cocite.bounds import Dimension
from cocite.config import Settings
from cocite.corpus.csr import CSR
from cocite.systems.citeomatic.word_bags import TokenBags, WordVectors
from cocite.text.fields import METADATA, TEXT, shared


class NNRankModelSettings(Settings):
    """Size of the model, and which groups of features it sees (each can be turned off: Table 3).

    Example:
        >>> NNRankModelSettings(authors=True, intersection=False).features
        ('title', 'abstract', 'authors', 'nnselect', 'in_citations')
    """

    dimension: Dimension = 75
    """Dimension of the word vectors."""
    metadata_dimension: Dimension = 25
    """Dimension of the vectors of authors, venues and keyphrases."""
    hidden: tuple[Dimension, Dimension] = (20, 20)
    """Units of the two ELU layers."""
    siamese: bool = True
    """Whether query and candidate share their vectors."""
    cosines: bool = True
    """Similarity of the titles, and of the abstracts."""
    intersection: bool = True
    """Summed weights of the words shared by the titles, and by the abstracts."""
    in_citations: bool = True
    """Log of the number of times the candidate was cited."""
    count_log: Literal["log1p", "log"] = "log1p"
    """``log``: log n, as in the paper; a candidate that was never cited, for which that has no value, gets 0, as one
    that was cited once. ``log1p``: log(1 + n), as in the authors' published code."""
    nnselect: bool = True
    """Similarity in NNSelect's space."""
    authors: bool = False
    venue: bool = False
    keyphrases: bool = False

    @model_validator(mode="after")
    def _some(self) -> NNRankModelSettings:
        if not self.features:
            raise ValueError("all features are turned off: there would be nothing to order by")
        return self

    @property
    def metadata(self) -> tuple[str, ...]:
        """The metadata fields that are read."""
        return tuple(field for field in METADATA if getattr(self, field))

    @property
    def fields(self) -> tuple[str, ...]:
        """The fields whose similarity is a feature."""
        return (TEXT if self.cosines else ()) + self.metadata

    @property
    def features(self) -> tuple[str, ...]:
        """Names of the features, in the order of h (Eq. 3)."""
        names = list(self.fields)
        names += ["nnselect"] if self.nnselect else []
        names += [f"shared_{field}" for field in TEXT] if self.intersection else []
        return (*names, "in_citations") if self.in_citations else tuple(names)


@dataclass(frozen=True)
class Pairs:
    """(query, candidate) pairs of a batch of Q queries and C papers.

    Attributes:
        query, paper: (P,) int64 position of the query among the batch's queries, and of the candidate among its papers.
        shared: text field -> (pair, word type) of each shared word, two int64 tensors.
        cosine: (P,) similarity in NNSelect's space.
        in_citations: (P,) times the candidate was cited, as far as the query may know.

    Example:
        >>> one = torch.zeros(1, dtype=torch.int64)
        >>> pairs = Pairs(one, one, {}, torch.tensor([0.8]), torch.tensor([12.0]))
        >>> settings = NNRankModelSettings(cosines=False, intersection=False)
        >>> NNRank({"words": 50}, settings).features({}, {}, pairs)  # NNSelect's cosine, and log(1 + 12)
        tensor([[0.8000, 2.5649]])
    """

    query: Tensor
    paper: Tensor
    shared: Mapping[str, tuple[Tensor, Tensor]]
    cosine: Tensor
    in_citations: Tensor

    def to(self, device: torch.device) -> Pairs:
        """These pairs on a device."""
        shared = {field: (pair.to(device), type_.to(device)) for field, (pair, type_) in self.shared.items()}
        rest = (part.to(device) for part in (self.cosine, self.in_citations))
        return Pairs(self.query.to(device), self.paper.to(device), shared, *rest)


def shared_words(
    left: Mapping[str, CSR],
    left_rows: NDArray[np.int64],
    right: Mapping[str, CSR],
    right_rows: NDArray[np.int32] | NDArray[np.int64],
    types: int,
) -> dict[str, tuple[Tensor, Tensor]]:
    """The words that the titles, and the abstracts, of each pair share, in the form of :class:`Pairs`.

    Args:
        left, right: bags of queries, and of papers.
        left_rows, right_rows: (P,) rows of the pairs in them.
        types: size of the vocabulary.
    """
    common = {field: shared(left[field], left_rows, right[field], right_rows, types) for field in TEXT}
    return {
        field: (torch.from_numpy(pair), torch.from_numpy(type_.astype(np.int64)))
        for field, (pair, type_) in common.items()
    }


class NNRank(nn.Module):
    """s(q, d) = FeedForward(h): two ELU layers and a sigmoid over the features of the pair.

    Args:
        types: vocabulary sizes: ``words``, and each metadata field that is read.
        settings: sizes and features.
        sparse: whether the gradients of the tables of vectors are sparse.

    Example:
        >>> network = NNRank({"words": 50}, NNRankModelSettings(dimension=4))
        >>> bags = {field: CSR.build([0, 0, 1], [3, 9, 9], 2) for field in ("title", "abstract")}
        >>> units = network.encode(bags, "paper")
        >>> query, paper = np.array([0, 1]), np.array([1, 0])
        >>> pairs = Pairs(torch.from_numpy(query), torch.from_numpy(paper),
        ...     shared_words(bags, query, bags, paper, 50), torch.zeros(2), torch.zeros(2))
        >>> tuple(network(units, units, pairs).shape)
        (2,)
    """

    def __init__(
        self, types: Mapping[str, int], settings: NNRankModelSettings, *, sparse: bool = True
    ) -> None:
        super().__init__()
        self.settings = settings
        sizes = {"words": settings.dimension} if settings.cosines else {}
        sizes |= dict.fromkeys(settings.metadata, settings.metadata_dimension)
        sides = ("both",) if settings.siamese else ("query", "paper")
        self.tables = nn.ModuleDict(
            {
                f"{name}_{side}": WordVectors(types[name], d, sparse=sparse)
                for name, d in sizes.items()
                for side in sides
            }
        )
        self.shared_weight = nn.Parameter(torch.ones(types["words"] if settings.intersection else 0))
        width = len(settings.features)
        one, two = settings.hidden
        self.layers = nn.Sequential(
            nn.Linear(width, one), nn.ELU(), nn.Linear(one, two), nn.ELU(), nn.Linear(two, 1)
        )

    def table(self, field: str, side: str) -> WordVectors:
        """The vectors of a field, on the side ``query`` or ``paper``; title and abstract share theirs."""
        name = "words" if field in TEXT else field
        table = self.tables[f"{name}_both" if self.settings.siamese else f"{name}_{side}"]
        assert isinstance(table, WordVectors)
        return table

    def fields(
        self, bags: Mapping[str, TokenBags], side: str, word_dropout: float = 0.0
    ) -> tuple[dict[str, Tensor], list[Tensor]]:
        """Unit vectors (n, d) of each field of n queries or papers, and the word vectors used (each (U, d))."""
        units, used = {}, []
        for field in self.settings.fields:
            bag = bags[field].dropped(word_dropout if field in TEXT else 0.0)
            sums, vectors = self.table(field, side).sums(bag)
            units[field] = functional.normalize(sums, dim=1)
            used.append(vectors)
        return units, used

    @torch.no_grad()
    def encode(self, bags: Mapping[str, CSR], side: str, *, block: int = 8192) -> dict[str, Tensor]:
        """Unit vectors (n, d) of each field of any number of papers or queries, without gradient."""
        result = {}
        for field in self.settings.fields:
            table, bag, parts = self.table(field, side).table(), bags[field], []
            for start in range(0, len(bag), block):
                rows = np.arange(start, min(start + block, len(bag)), dtype=np.int32)
                types, offsets = TokenBags.of(bag, rows).to(table.device)
                if len(types):
                    sums = functional.embedding_bag(
                        types, table, offsets, mode="sum", include_last_offset=True
                    )
                else:
                    sums = table.new_zeros(len(rows), table.shape[1])
                parts.append(functional.normalize(sums, dim=1))
            result[field] = torch.cat(parts) if parts else table.new_zeros(0, table.shape[1])
        return result

    def features(self, queries: Mapping[str, Tensor], papers: Mapping[str, Tensor], pairs: Pairs) -> Tensor:
        """h of Eq. 3 for each pair, (P, F), in the order of ``settings.features``.

        Args:
            queries: field -> (Q, d) unit vectors.
            papers: field -> (C, d) unit vectors.
            pairs: P pairs.
        """
        columns = [(queries[f][pairs.query] * papers[f][pairs.paper]).sum(1) for f in self.settings.fields]
        if self.settings.nnselect:
            columns.append(pairs.cosine)
        if self.settings.intersection:
            for field in TEXT:
                pair, type_ = pairs.shared[field]
                zero = self.shared_weight.new_zeros(len(pairs.query))
                columns.append(zero.index_add(0, pair, self.shared_weight[type_]))
        if self.settings.in_citations:
            count = pairs.in_citations
            is_plain = self.settings.count_log == "log"
            columns.append(count.clamp(min=1).log() if is_plain else count.log1p())
        return torch.stack(columns, dim=1)

    def forward(self, queries: Mapping[str, Tensor], papers: Mapping[str, Tensor], pairs: Pairs) -> Tensor:
        """Log-odds (P,) that the query cites the candidate; their sigmoid is the probability of the paper."""
        logits: Tensor = self.layers(self.features(queries, papers, pairs))
        return logits.squeeze(1)
