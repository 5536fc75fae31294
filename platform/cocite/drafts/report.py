"""What a draft is told, as JSON values, Markdown or HTML."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence, Set
from dataclasses import asdict, dataclass, field
from types import MappingProxyType
from typing import Any

from cocite.corpus.paper_address import paper_address
from cocite.corpus.records import OTHER_MARK, TARGET_MARK, PaperRecord
from cocite.drafts.advice import CitedPaper, Companion, GapAdvice
from cocite.drafts.draft import Draft
from cocite.drafts.reference_styles import FormattedReference
from cocite.drafts.suggestions import SuggestedPapers
from cocite.pipeline.confidence import percentage
from cocite.pipeline.evidence import Evidence
from cocite.pipeline.options import Recommendation
from cocite.systems.citing_sentences.quality import Quality

IN_LIBRARY = "in my library"
"""The words behind a paper that the author has already."""
SUGGESTED = "Sentences that seem to need a citation"
NONE_SUGGESTED = "no sentence without a citation seems to need one"
_CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]")
_SPECIAL = re.compile(r"([\\`*_\[\]<>#|~$])")


@dataclass(frozen=True, slots=True)
class Report:
    """Everything a draft is told.

    Example:
        >>> from cocite.drafts.reading import read_text
        >>> draft = read_text("Trees [CIT].", "text")
        >>> report = Report(draft, [GapAdvice(1, draft.gaps[0], (), "no paper of the index fits")], [], [])
        >>> print(report.markdown())
        # Papers for 1 gap
        <BLANKLINE>
        ## Gap 1 (line 1)
        <BLANKLINE>
        > Trees \\[CIT\\].
        <BLANKLINE>
        no paper of the index fits
        <BLANKLINE>
    """

    draft: Draft
    gaps: Sequence[GapAdvice]
    cited: Sequence[CitedPaper]
    companions: Sequence[Companion]
    library: Set[str] | None = None
    """Ids of the papers that the author has already; None: nobody named a library."""
    suggestions: Sequence[SuggestedPapers] | None = None
    """The sentences that seem to need a citation; None: nobody asked for them."""
    references: Mapping[str, FormattedReference] = field(default_factory=dict)
    """Id of a paper -> its reference in the style that the author named."""
    suggestion_quality: Quality | None = None
    """How often the classifier that suggested sentences is right; None: not measured."""

    def papers(self) -> list[PaperRecord]:
        """The papers that are recommended, in the order of the report, each once."""
        answers = [*self.gaps, *(one.advice for one in self.suggestions or ())]
        found: list[PaperRecord | Recommendation] = [paper for one in answers for paper in one.papers]
        found += [one.paper for one in self.companions]
        return list({paper.id: _record(paper) for paper in found}.values())

    @property
    def library_counts(self) -> dict[str, int] | None:
        """How many of the report's papers the author has, and how many not; None: nobody named a library."""
        if self.library is None:
            return None
        own = [paper.id in self.library for paper in self.papers()]
        return {"in_library": sum(own), "lacking": len(own) - sum(own)}

    @property
    def library_line(self) -> str:
        """The same in a sentence; "" where nobody named a library."""
        counts = self.library_counts
        if counts is None:
            return ""
        own, lacking = counts["in_library"], counts["lacking"]
        return f"Of {own + lacking:,} papers here, {own:,} are in my library, and it lacks {lacking:,}."

    def values(self) -> dict[str, Any]:
        """What ``--json`` prints."""
        return {
            "draft": {
                "file": self.draft.file,
                "kind": self.draft.kind,
                "title": self.draft.title,
                "authors": list(self.draft.authors),
                "year": self.draft.year,
                "gaps": len(self.draft.gaps),
                "citations": len(self.cited),
                "warnings": list(self.draft.warnings),
            },
            "gaps": [gap_values(gap, self.library or frozenset(), self.references) for gap in self.gaps],
            "cited": [
                {
                    "key": one.key,
                    "title": one.title,
                    "in_bibliography": one.in_bibliography,
                    "paper": one.paper and one.paper.id,
                }
                for one in self.cited
            ],
            "usually_cited_together": [
                {
                    **_paper_values(one.paper, self.references),
                    "in_library": one.paper.id in (self.library or ()),
                    "papers_citing_both": one.papers,
                }
                for one in self.companions
            ],
            **self._suggestion_values(),
            **({} if self.library is None else {"library": self.library_counts}),
        }

    def _suggestion_values(self) -> dict[str, Any]:
        if self.suggestions is None:
            return {}
        made = []
        for one in self.suggestions:
            values = gap_values(one.advice, self.library or frozenset(), self.references)
            made.append({"suggestion": values.pop("gap"), "probability": one.probability, **values})
        quality = self.suggestion_quality
        return {"suggestions": made, "suggestion_quality": None if quality is None else asdict(quality)}

    @property
    def quality_line(self) -> str:
        """How often suggestions are right, in a sentence; "" where none were asked for, or nothing was measured."""
        if self.suggestions is None or self.suggestion_quality is None:
            return ""
        return self.suggestion_quality.sentence

    def mark(self, paper: PaperRecord | Recommendation) -> str:
        """What stands behind a paper that the author has already; "" behind others."""
        return f" ({IN_LIBRARY})" if paper.id in (self.library or ()) else ""

    def markdown(self) -> str:
        """The report in Markdown."""
        count = len(self.gaps)
        lines = [f"# {_md(self.draft.title) or f'Papers for {count} gap' + 's' * (count != 1)}", ""]
        for gap in self.gaps:
            lines += [f"## Gap {gap.number} ({gap.gap.place})", "", *self._markdown_of(gap)]
        if self.suggestions is not None:
            lines += [f"## {SUGGESTED}", ""]
            lines += [self.quality_line, ""] if self.quality_line else []
            lines += [] if self.suggestions else [NONE_SUGGESTED, ""]
            for one in self.suggestions:
                lines += [f"### {_md(one.heading)}", "", *self._markdown_of(one.advice)]
        if self.cited:
            lines += ["## Cited already", ""]
            lines += [f"- [{'x' if one.paper else ' '}] {_markdown_cited(one)}" for one in self.cited]
            lines.append("")
        if self.companions:
            lines += ["## Usually cited together with these", ""]
            lines += [
                f"- {self._markdown_paper(one.paper)}{self.mark(one.paper)}: {companion_reason(one)}"
                for one in self.companions
            ]
            lines.append("")
        if self.library_line:
            lines += [self.library_line, ""]
        return "\n".join(lines)

    def _markdown_of(self, gap: GapAdvice) -> list[str]:
        """The sentence of a gap, its papers and its note."""
        lines = [f"> {_md(gap.gap.sentence)}", ""]
        for number, paper in enumerate(gap.papers, 1):
            lines.append(f"{number}. {self._markdown_paper(paper)}{self.mark(paper)}{chance(paper)}")
            lines += [f"   - {_md(reason)}" for reason in reasons(paper.evidence)]
        return [*lines, *([gap.note] if gap.note else []), ""]

    def _markdown_paper(self, paper: PaperRecord | Recommendation) -> str:
        """A paper's reference in the author's style, or else its title and byline."""
        if paper.id in self.references:
            return _markdown_link(paper, self.references[paper.id].markdown(_escaped))
        return f"{_markdown_link(paper, f'**{_md(paper.title)}**')} {_md(byline(paper))}"

    def line(self, paper: PaperRecord | Recommendation) -> str:
        """As ``_markdown_paper``, in plain text."""
        if paper.id in self.references:
            return self.references[paper.id].text
        return f"{paper.title} ({byline(paper)})"

    def html(self) -> str:
        """The report as one HTML page that loads nothing; its links lead to the papers."""
        from jinja2 import Environment, PackageLoader

        environment = Environment(
            loader=PackageLoader("cocite.drafts", "."), autoescape=True, trim_blocks=True, lstrip_blocks=True
        )
        template = environment.get_template("report.html.jinja")
        return template.render(
            report=self,
            byline=byline,
            chance=chance,
            reasons=reasons,
            address=address,
            cited_line=cited_line,
            companion_reason=companion_reason,
            suggested=SUGGESTED,
            none_suggested=NONE_SUGGESTED,
        )


def gap_values(
    advice: GapAdvice,
    library: Set[str] = frozenset(),
    references: Mapping[str, FormattedReference] = MappingProxyType({}),
) -> dict[str, Any]:
    """One gap as JSON has it: its number and place, its sentence, and its papers with their reasons.

    Args:
        advice: the gap and its papers.
        library: ids of the papers that the author has already.
        references: id of a paper -> its reference, where the author named a style.
    """
    gap = advice.gap
    return {
        "gap": advice.number,
        "file": gap.place.file,
        "line": gap.place.line,
        "sentence": gap.sentence,
        "context": gap.context,
        "note": advice.note,
        "unlike_corpus": advice.unlike_corpus,
        "papers": [
            {**recommended_values(paper, references), "in_library": paper.id in library}
            for paper in advice.papers
        ],
    }


def recommended_values(
    paper: Recommendation, references: Mapping[str, FormattedReference] = MappingProxyType({})
) -> dict[str, Any]:
    """A recommended paper with its reasons, as JSON has it.

    Args:
        paper: the paper.
        references: id of a paper -> its reference, where the author named a style.
    """
    evidence = paper.evidence
    return {
        **_paper_values(paper, references),
        "score": paper.score,
        "confidence": paper.confidence,
        "evidence": {
            "shared_words": [word for word, _ in evidence.shared_words],
            "cited_by": [citing.id for citing in evidence.cited_by],
            "seeds": [seed.id for seed in evidence.seeds],
            "sentences": [{"text": quote.sentence, "id": quote.id} for quote in evidence.sentences],
        },
    }


def _paper_values(
    paper: PaperRecord | Recommendation, references: Mapping[str, FormattedReference]
) -> dict[str, Any]:
    return {
        "id": paper.id,
        "title": paper.title,
        "authors": list(paper.authors),
        "year": paper.year or None,
        "venue": paper.venue,
        "doi": paper.doi,
        **({"reference": references[paper.id].text} if paper.id in references else {}),
    }


def _record(paper: PaperRecord | Recommendation) -> PaperRecord:
    """The fields of a paper that a reference has."""
    return PaperRecord(
        paper.id, paper.title, year=paper.year, venue=paper.venue, authors=paper.authors, doi=paper.doi
    )


def address(paper: PaperRecord | Recommendation) -> str:
    """Where a paper is shown on the web; "" where its ids do not say.

    Example:
        >>> address(PaperRecord("P02-1040", "BLEU"))
        'https://aclanthology.org/P02-1040'
    """
    return paper_address(paper.id, paper.doi)


def byline(paper: PaperRecord | Recommendation) -> str:
    """Authors, venue and year in one line.

    Example:
        >>> byline(PaperRecord("a", "Trees", year=1999, venue="ACL", authors=("Ann Lee", "Bo Kim", "C. Wu")))
        'Ann Lee et al. ACL 1999'
    """
    names = paper.authors[0] + " et al." if len(paper.authors) > 2 else " and ".join(paper.authors)
    return " ".join(part for part in (names, paper.venue, str(paper.year or "")) if part)


def chance(paper: Recommendation) -> str:
    """What stands behind a paper whose probability is known; "" behind others.

    Example:
        >>> paper = Recommendation(7, "a", "Trees", (), 1999, "", "", "", 3.5, {}, Evidence(), confidence=0.42)
        >>> chance(paper)
        ', ~42 %'
    """
    return f", {percentage(paper.confidence)}" if paper.confidence is not None else ""


def reasons(evidence: Evidence) -> list[str]:
    """The reasons for a paper, a line each.

    Example:
        >>> from cocite.pipeline.evidence import SharedWord
        >>> reasons(Evidence(shared_words=(SharedWord("parsing", 4.2),)))
        ['shares: parsing']
    """
    lines = []
    if evidence.seeds:
        lines.append(f"linked with papers you like: {'; '.join(one.title for one in evidence.seeds[:2])}")
    for quote in evidence.sentences[:2]:
        text = quote.sentence.replace(TARGET_MARK, "[this paper]").replace(OTHER_MARK, "[...]")
        lines.append(f"cited for: “{text}” ({quote.title}{f', {quote.year}' if quote.year else ''})")
    if evidence.cited_by:
        lines.append(f"cited by papers like yours: {'; '.join(one.title for one in evidence.cited_by[:2])}")
    if evidence.shared_words:
        lines.append(f"shares: {', '.join(word for word, _ in evidence.shared_words[:6])}")
    return lines


def cited_line(cited: CitedPaper) -> str:
    """A key, and what became of it.

    Example:
        >>> cited_line(CitedPaper("lee99", None, ""))
        'lee99: no .bib file given has this key'
    """
    if cited.paper is not None:
        return f"{cited.key}: {cited.paper.title}"
    if cited.in_bibliography:
        return f"{cited.key}: {cited.title} (not in the corpus)"
    return f"{cited.key}: no .bib file given has this key"


def companion_reason(companion: Companion) -> str:
    """Why a paper is listed.

    Example:
        >>> companion_reason(Companion(PaperRecord("a", "Trees"), papers=3))
        '3 papers cite it with papers that you cite'
    """
    return f"{companion.papers} papers cite it with papers that you cite"


def printable(text: str) -> str:
    """A text without control characters, with which a title could command a terminal.

    Example:
        >>> printable("Trees\\x1b[2J")
        'Trees[2J'
    """
    return _CONTROL.sub("", text)


def _markdown_link(paper: PaperRecord | Recommendation, text: str) -> str:
    """A text in Markdown, as a link to a paper where there is an address."""
    return f"[{text}]({link})" if (link := address(paper)) else text


def _markdown_cited(cited: CitedPaper) -> str:
    if cited.paper is None:
        return _md(cited_line(cited))
    return f"{_md(cited.key)}: {_markdown_link(cited.paper, _md(cited.paper.title))}"


def _md(text: str) -> str:
    return _escaped(" ".join(printable(text).split()))


def _escaped(text: str) -> str:
    """A text without what Markdown reads as marks."""
    return _SPECIAL.sub(r"\\\1", printable(text))
