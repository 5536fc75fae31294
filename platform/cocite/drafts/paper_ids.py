"""Papers of a corpus by the ids that people write, each with or without the address around it.

These are ids of the corpus, DOIs, and ids of arXiv, the ACL Anthology, Semantic Scholar and OpenAlex.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from cocite.corpus.arxiv import preprint_of
from cocite.corpus.importers.values import bare_doi
from cocite.corpus.records import PaperRecord
from cocite.corpus.store import Corpus
from cocite.drafts.bibliography import rows_of
from cocite.protocols import NO_ROW

_ACL = re.compile(r"(?:https?://)?(?:www\.)?aclanthology\.org/([\w.-]+?)(?:\.pdf|\.bib)?/?$", re.IGNORECASE)
ACL_DOI = re.compile(r"10\.(?:18653/v1|3115/v1)/(?P<id>.+)", re.IGNORECASE)
_ADDRESS = re.compile(
    r"^(?:https?://)?(?:www\.)?arxiv\.org/(?:abs|pdf|html)/(.+?)(?:\.pdf)?/?(?:[?#].*)?$", re.IGNORECASE
)
_S2 = re.compile(
    r"(?:https?://)?(?:(?:www|api)\.)?semanticscholar\.org/(?:p/|(?:graph/v1/)?paper/(?:[^/?#]*/)?)?"
    r"(?P<id>(?:CorpusId:)?\d{1,12}|[0-9a-f]{40})/?(?:[?#].*)?$",
    re.IGNORECASE,
)
"""An address at Semantic Scholar: ``/paper/TITLE/HASH``, ``/p/NUMBER``, or ``/CorpusID:NUMBER`` of its API."""
_OPENALEX = re.compile(r"(?:https?://)?(?:(?:www|api)\.)?openalex\.org/(?:works/)?(W\d+)/?$", re.IGNORECASE)
CORPUS_ID = re.compile(r"(?:CorpusId|S2):[ ]?(?P<number>\d{1,12})$", re.IGNORECASE)
_DOI = "10.48550/arXiv."
"""Before the number of a preprint, in the DOI that arXiv gives it."""
_ARXIV = r"(?i)(?:^|arxiv[:.] ?|\babs/)(?P<number>\d{4}\.\d{4,5}|[a-z-]+(?:\.[a-z]{2})?/\d{7})(?:v\d+)?(?:$|[^\w.-])"
"""As :mod:`cocite.corpus.arxiv` finds a preprint's number, for Arrow's engine, which looks at columns at once."""


def rows_of_ids(ids: Sequence[str], corpus: Corpus, *, scan: bool = True) -> NDArray[np.int32]:
    """(I,) the row of each id, ``NO_ROW`` where the corpus has no such paper.

    Args:
        ids: of the corpus, or in another form.
        corpus: in which they are looked up.
        scan: look at all papers for an arXiv number that neither an id nor a DOI has, as a venue may have it; that
            takes a while where there are millions.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> rows = rows_of_ids(["vaswani2017attention", "https://arxiv.org/abs/1706.03762", "10.1/x"], starter_corpus())
        >>> (rows == rows[0]).tolist(), rows[2]
        ([True, True, False], np.int32(-1))
    """
    rows = corpus.find(ids)
    at = np.flatnonzero(rows == NO_ROW)
    if len(at):
        # A pattern may take long on a text of several lines.
        papers = [paper_of_id(" ".join(ids[i].split())) for i in at.tolist()]
        rows[at] = rows_of_papers(papers, np.ones(len(at), bool), corpus, scan=scan)
    return rows


def own_ids(ids: Sequence[str], corpus: Corpus) -> list[str]:
    """The corpus' own ids of the papers that some ids name; one that it does not know stays as it is.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> own_ids(["arXiv:1706.03762", "gone"], starter_corpus())
        ['vaswani2017attention', 'gone']
    """
    rows = rows_of_ids(ids, corpus)
    return [
        id_ if row == NO_ROW else corpus.ids([row])[0] for id_, row in zip(ids, rows.tolist(), strict=True)
    ]


def paper_of_id(text: str) -> PaperRecord:
    """The record of an id: with a DOI where it is one, and without an address around it.

    Example:
        >>> paper_of_id("https://doi.org/10.1000/182").doi, paper_of_id("https://aclanthology.org/P02-1040.pdf").id
        ('10.1000/182', 'P02-1040')
    """
    id_ = text
    if match := _ACL.match(text):
        id_ = match[1]
    elif match := _ADDRESS.match(text):
        id_ = f"arXiv:{match[1]}"
    elif match := _S2.match(text):
        id_ = match["id"].lower()
    elif match := _OPENALEX.match(text):
        id_ = match[1].upper()
    if match := CORPUS_ID.match(id_):
        id_ = match["number"]
    doi = bare_doi(id_)
    return PaperRecord(id_, "", doi=doi if doi.startswith("10.") and "/" in doi else "")


def rows_of_papers(
    papers: Sequence[PaperRecord], is_id: NDArray[np.bool_], corpus: Corpus, *, scan: bool = True
) -> NDArray[np.int32]:
    """(P,) the row of each paper, ``NO_ROW`` where the corpus has none.

    Args:
        papers: records of ids (:func:`paper_of_id`), and entries of libraries.
        is_id: (P,) whether a record is that of an id; the key of a library's entry is the author's own, so it is no id
            of the corpus.
        corpus: in which they are looked up.
        scan: as of :func:`rows_of_ids`.

    Example:
        >>> from cocite.corpus.starter import starter_corpus
        >>> entry = PaperRecord("my-key", "Attention Is All You Need")
        >>> starter_corpus().ids(rows_of_papers([entry], np.array([False]), starter_corpus()))
        ['vaswani2017attention']
    """
    rows = corpus.find([paper.id for paper in papers])
    rows[~is_id] = NO_ROW
    acl = [match["id"] if (match := ACL_DOI.match(paper.doi)) else "" for paper in papers]
    tries: list[Callable[[list[int]], NDArray[np.int32]]] = [
        lambda at: corpus.find([acl[i] for i in at]),
        # Corpora that mix sources write before a number whose it is.
        *(
            lambda at, before=before: corpus.find([f"{before}{papers[i].id}" if is_id[i] else "" for i in at])
            for before in ("CorpusId:", "S2:")
        ),
        lambda at: rows_of([papers[i] for i in at], corpus),
        lambda at: rows_of(
            [PaperRecord("", "", doi=f"10.18653/v1/{papers[i].id}" if is_id[i] else "") for i in at], corpus
        ),
        lambda at: _by_number([papers[i] for i in at], corpus),
    ]
    if scan:
        tries.append(lambda at: _preprints([papers[i] for i in at], corpus))
    for other in tries:
        at = np.flatnonzero(rows == NO_ROW)
        if len(at):
            rows[at] = other(at.tolist())
    return rows


def _by_number(papers: Sequence[PaperRecord], corpus: Corpus) -> NDArray[np.int32]:
    """(P,) the row whose id or DOI is that of the same preprint on arXiv."""
    numbers = [preprint.number if (preprint := preprint_of(paper)) else "" for paper in papers]
    rows = corpus.find(numbers)
    for found in (
        corpus.find([f"arXiv:{number}" if number else "" for number in numbers]),
        rows_of([PaperRecord("", "", doi=f"{_DOI}{number}" if number else "") for number in numbers], corpus),
    ):
        rows = np.where(rows == NO_ROW, found, rows)
    return rows


def _preprints(papers: Sequence[PaperRecord], corpus: Corpus) -> NDArray[np.int32]:
    """(P,) the first row whose DOI, id or venue names the same preprint on arXiv."""
    numbers = [preprint.number.lower() if (preprint := preprint_of(paper)) else "" for paper in papers]
    wanted = pa.array(sorted({number for number in numbers if number}), pa.string())
    found: dict[str, int] = {}
    for name in ("doi", "id", "venue") if len(wanted) else ():
        first = 0
        for chunk in corpus.papers.table.column(name).chunks:  # one after another bounds the memory
            has = pc.utf8_lower(pc.struct_field(pc.extract_regex(chunk, _ARXIV), "number"))
            at = np.flatnonzero(pc.is_in(has, value_set=wanted).to_numpy(zero_copy_only=False))
            for position, number in zip(at.tolist(), has.take(pa.array(at)).to_pylist(), strict=True):
                found[number] = min(found.get(number, first + position), first + position)
            first += len(chunk)
    return np.array([found.get(number, NO_ROW) for number in numbers], np.int32)
