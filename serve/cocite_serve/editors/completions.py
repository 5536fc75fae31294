"""The papers that an editor offers for a citation: those that fit its context, and that fit what is typed."""

from __future__ import annotations

import re
import unicodedata
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from cocite.corpus.bibtex import citation_keys
from cocite.corpus.records import PaperRecord
from cocite.drafts.draft import Kind
from cocite.pipeline.evidence import Evidence
from cocite.pipeline.options import Options, Recommendation
from cocite.pipeline.recommender import Recommender
from cocite_serve.editors.cursor import Spot
from cocite_serve.editors.head import Head, read_head
from cocite_serve.editors.names import AuthorNames
from cocite_serve.editors.references import ReferenceFiles, References
from cocite_serve.editors.surroundings import context_at

MAX_ITEMS = 20
"""Papers that are offered at a time."""
FOUND = 100
"""Papers of a context that what is typed chooses among."""
DEPTH = 300
"""Candidates that are put in order for each context, as in `cocite mcp`."""
RERANK = 0
"""The best of those, which the cross-encoder reads: none, for an author who types waits for at most 300 ms."""
_FEW = 5
"""Fewer papers than these are filled up with papers whose titles have the words that are typed."""
_TYPED = 4
"""Characters from which on titles are searched for what is typed."""
_KEPT = 64
"""Answers that stay in memory."""
_NO_WORD = re.compile(r"[\W_]+")
_DIGITS = re.compile(r"(?<=\D)(?=\d)|(?<=\d)(?=\D)")


@dataclass(frozen=True, slots=True)
class Offer:
    """A paper that is offered.

    Attributes:
        key: by which the draft cites it.
        paper: as the corpus has it, or the bibliography, where the corpus does not hold it.
        is_new: whether the bibliography lacks it.
        evidence: the reasons; None: it was found by what is typed alone.

    Example:
        >>> Offer("lee99", PaperRecord("lee99", "On BLEU"), False).evidence is None
        True
    """

    key: str
    paper: PaperRecord
    is_new: bool
    evidence: Evidence | None = None


class Completer:
    """Finds what to offer; used by one thread at a time.

    Args:
        recommender: over the index that is asked.
        keys_as: form of new keys.

    Example:
        >>> from cocite.corpus.history import History
        >>> from cocite.corpus.starter import starter_corpus
        >>> from cocite.retrieval.index.index import Index
        >>> from cocite_serve.editors.cursor import find_spot
        >>> index = Index.build(starter_corpus(), History.all(starter_corpus()))
        >>> completer = Completer(Recommender.over(None, index))
        >>> text = "The quality of translations is measured by BLEU \\\\cite{pap"
        >>> offers, _ = completer.offers(text, find_spot(text, len(text), "latex"), "latex", None)
        >>> offers[0].key, offers[0].is_new
        ('papineni2002bleu', True)
    """

    def __init__(self, recommender: Recommender, keys_as: str = "cocite") -> None:
        self.recommender, self._keys_as = recommender, keys_as
        self.files = ReferenceFiles(recommender.index.corpus)
        self._names = AuthorNames(recommender.index.corpus, recommender.index.alive)
        self._answers: OrderedDict[tuple[object, ...], list[Recommendation]] = OrderedDict()

    def offers(self, text: str, spot: Spot, kind: Kind, path: Path | None) -> tuple[list[Offer], References]:
        """The papers for a citation, best first, and the references of its draft.

        Without anything typed these are the papers that fit the context. What is typed leaves those among them of
        which each typed word begins a word of title, authors, year, venue or key, then entries of the bibliography,
        then papers of the corpus whose authors or titles have the words.

        Args:
            text: of the draft.
            spot: the citation.
            kind: of the draft.
            path: of the draft's file; None: it has none yet.
        """
        # Without the citation under the cursor, the head stays the same while its key is typed.
        own = read_head(f"{text[: spot.outer_start]}{text[spot.outer_end :]}", kind)
        references = self.files.of(path, own)
        head = self.files.main_head(path, own)
        context = context_at(text, spot, kind, own.macros)
        asked = words_of(spot.typed)
        kept = {row for row, key in references.keys_of_rows.items() if key in spot.kept}
        offers: dict[str, Offer] = {}
        for offer in self._fitting(context, head, spot.typed, references, kept):
            if fits(offer, asked):
                offers.setdefault(offer.key, offer)
            if len(offers) >= MAX_ITEMS:
                break
        if asked or not offers:
            for offer in self._own(references, spot):
                if len(offers) >= MAX_ITEMS:
                    break
                if offer.key not in offers and fits(offer, asked):
                    offers[offer.key] = offer
        if len(offers) < _FEW and len(spot.typed) >= _TYPED:
            for offer in self._remembered(spot.typed, asked, head.year, references, kept):
                if fits(offer, asked):
                    offers.setdefault(offer.key, offer)
        return list(offers.values())[:MAX_ITEMS], references

    def warm_up(self) -> None:
        """Answer a query that nobody asks: the first one compiles and loads what the others use."""
        self._answer("A language is modelled TARGETCIT by a network.", "")
        self._answers.clear()
        self._names.rows("a", 1)

    def _fitting(
        self, context: str, head: Head, typed: str, references: References, kept: set[int]
    ) -> Iterator[Offer]:
        """The papers that fit a context, or else a draft, or else what is typed."""
        title = head.title if context or head.title or head.abstract else typed
        if context or title or head.abstract:
            found = self._answer(context, title, head.abstract, head.year, head.authors)
            papers = [(paper.row, _record(paper)) for paper in found]
            yield from self._offers(papers, references, kept, [paper.evidence for paper in found])

    def _remembered(
        self, typed: str, asked: Sequence[str], year: int | None, references: References, kept: set[int]
    ) -> Iterator[Offer]:
        """The papers that an author remembers, whatever the context is: by an author's name, or by the title."""
        word = max((word for word in asked if word.isalpha()), key=len, default="")
        rows = self._names.rows(word, FOUND) if len(word) >= _TYPED else []
        named = [
            (row, paper)
            for row, paper in zip(rows, self.recommender.index.corpus.papers_at(rows), strict=True)
            if not year or paper.year <= year
        ]
        yield from self._offers(named, references, kept)
        found = self._answer("", typed)
        yield from self._offers([(paper.row, _record(paper)) for paper in found], references, kept)

    def _offers(
        self,
        papers: Sequence[tuple[int, PaperRecord]],
        references: References,
        kept: set[int],
        evidence: Sequence[Evidence] = (),
    ) -> Iterator[Offer]:
        """Papers, given by their rows, with their keys; ``evidence`` has the reasons of each, or is empty."""
        keys = references.keys_of_rows
        new = [(row, paper) for row, paper in papers if row not in keys]
        # All new papers get their keys, so that a key does not change while it is typed.
        new_keys = citation_keys([paper for _, paper in new], references.taken, self._keys_as)
        named = dict(zip((row for row, _ in new), new_keys, strict=True))
        for place, (row, paper) in enumerate(papers):
            if row not in kept:
                key = keys.get(row)
                reasons = evidence[place] if evidence else None
                yield Offer(key or named[row], paper, key is None, reasons)

    def _own(self, references: References, spot: Spot) -> Iterator[Offer]:
        for key, entry in references.bibliography.entries.items():
            if key not in spot.kept:
                yield Offer(key, entry, False)

    def _answer(
        self,
        context: str,
        title: str,
        abstract: str = "",
        year: int | None = None,
        authors: tuple[str, ...] = (),
    ) -> list[Recommendation]:
        """The papers of a query, from memory while no more than a key is typed."""
        asked = (context, title, abstract, year, authors)
        if asked in self._answers:
            self._answers.move_to_end(asked)
            return self._answers[asked]
        query = self.recommender.query(
            context=context, title=title, abstract=abstract, year=year, authors=authors
        )
        found = self.recommender.recommend(query, Options(top_k=FOUND, depth=DEPTH, rerank=RERANK))
        while len(self._answers) >= _KEPT:
            self._answers.popitem(last=False)
        self._answers[asked] = list(found)
        return self._answers[asked]


def words_of(text: str) -> list[str]:
    """The words of a text in lower case, without accents; letters and digits that touch are words of their own.

    Example:
        >>> words_of("Müller2019 (attention)")
        ['muller', '2019', 'attention']
    """
    folded = unicodedata.normalize("NFKD", text.lower())
    folded = "".join(c for c in folded if not unicodedata.combining(c))
    return [part for word in _NO_WORD.split(folded) for part in _DIGITS.split(word) if part]


def fits(offer: Offer, asked: Sequence[str]) -> bool:
    """Whether each word that is asked for begins a word of the paper, or the words together begin its key.

    Example:
        >>> offer = Offer("lee1999bleu", PaperRecord("a", "On BLEU", authors=("Ann Lee",)), True)
        >>> fits(offer, ["bl", "lee"]), fits(offer, words_of("lee1999b")), fits(offer, ["rouge"])
        (True, True, False)
    """
    if not asked or "".join(words_of(offer.key)).startswith("".join(asked)):
        return True
    paper = offer.paper
    words = words_of(" ".join((offer.key, paper.title, *paper.authors, str(paper.year or ""), paper.venue)))
    return all(any(word.startswith(one) for word in words) for one in asked)


def _record(paper: Recommendation) -> PaperRecord:
    return PaperRecord(
        id=paper.id,
        title=paper.title,
        authors=tuple(paper.authors),
        year=paper.year,
        venue=paper.venue,
        doi=paper.doi,
    )
