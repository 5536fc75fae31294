"""A list of recommendations that a notebook shows as a table."""

from __future__ import annotations

from collections.abc import Iterable
from html import escape

from cocite.corpus.paper_address import paper_address
from cocite.corpus.records import TARGET_MARK
from cocite.pipeline.confidence import list_note, percentage
from cocite.pipeline.evidence import Evidence
from cocite.pipeline.options import Recommendation

AUTHORS = 3
"""Authors that are named; further ones are "et al."."""
_STYLE = (
    "<style scoped>.cocite{color:inherit;background:transparent;border-collapse:collapse}"
    ".cocite td,.cocite th{text-align:left;vertical-align:top;padding:.3em .6em;border-top:1px solid currentColor}"
    ".cocite small{opacity:.85}</style>"
)
"""Colours are those of the page around it, light or dark."""


class Recommendations(list[Recommendation]):
    """Recommendations, best first.

    Args:
        papers: the recommended ones.
        unlike_corpus: whether the query's text is unlike the papers of the index.
        has_words: whether it has words to search with.

    Attributes:
        unlike_corpus, has_words: likewise.

    Example:
        >>> paper = Recommendation(7, "bleu", "BLEU & <b>", ("Ann Lee",), 2002, "ACL", "", "", 3.5, {}, Evidence())
        >>> table = Recommendations([paper])._repr_html_()
        >>> "BLEU &amp; &lt;b&gt;" in table
        True
        >>> Recommendations([paper], unlike_corpus=True).note
        'this text is unlike the papers of the corpus, which may hold nothing for it'
    """

    def __init__(
        self,
        papers: Iterable[Recommendation] = (),
        *,
        unlike_corpus: bool = False,
        has_words: bool = True,
    ) -> None:
        super().__init__(papers)
        self.unlike_corpus, self.has_words = unlike_corpus, has_words

    @property
    def note(self) -> str:
        """A sentence where the text is unlike the papers of the index or has no words, or where no paper is probable.

        "" otherwise.
        """
        return list_note(self, unlike_corpus=self.unlike_corpus, has_words=self.has_words)

    def _repr_html_(self) -> str:
        """The table, with every text of the corpus escaped, and above it the note.

        Where the model is calibrated, a last column has the probability that the paper is cited.
        """
        calibrated = any(paper.confidence is not None for paper in self)
        rows = "".join(_row(rank, paper, calibrated=calibrated) for rank, paper in enumerate(self, 1))
        names = ("", "paper", "why", "score", *(("cited",) if calibrated else ()))
        head = f"<tr>{''.join(f'<th>{name}</th>' for name in names)}</tr>"
        note = f'<p class="cocite">{escape(self.note)}</p>' if self.note else ""
        return f'{_STYLE}{note}<table class="cocite"><thead>{head}</thead><tbody>{rows}</tbody></table>'


def _row(rank: int, paper: Recommendation, *, calibrated: bool) -> str:
    authors = ", ".join(paper.authors[:AUTHORS]) + (" et al." if len(paper.authors) > AUTHORS else "")
    about = " · ".join(
        escape(part) for part in (authors, str(paper.year or ""), paper.venue, paper.id) if part
    )
    title = escape(paper.title)
    if address := paper_address(paper.id, paper.doi):
        title = f'<a href="{address}" rel="noopener noreferrer">{title}</a>'
    chance = "" if paper.confidence is None else percentage(paper.confidence)
    cited = f"<td>{escape(chance)}</td>" if calibrated else ""
    return (
        f"<tr><td>{rank}</td><td>{title}<br><small>{about}</small></td>"
        f"<td>{_reasons(paper.evidence)}</td><td>{paper.score:.3g}</td>{cited}</tr>"
    )


def _reasons(evidence: Evidence) -> str:
    parts = [", ".join(shared.word for shared in evidence.shared_words)]
    parts += [f"“{quoted.sentence.replace(TARGET_MARK, '[CIT]')}”" for quoted in evidence.sentences[:1]]
    parts += [f"cited by {citing.title}" for citing in evidence.cited_by[:1]]
    return "<br>".join(f"<small>{escape(part)}</small>" for part in parts if part)
