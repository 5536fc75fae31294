"""What ``cocite recommend`` prints, and the files that it writes."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from cocite.atomic_files import replace_file
from cocite.cli.console import out, print_json, print_note

if TYPE_CHECKING:
    from cocite.corpus.store import Corpus
    from cocite.drafts.advice import GapAdvice
    from cocite.drafts.bibliography import Bibliography
    from cocite.drafts.completion import Completion
    from cocite.drafts.draft import Draft
    from cocite.drafts.reading import OpenedDraft
    from cocite.drafts.reference_styles import ReferenceStyle
    from cocite.drafts.report import Report


def complete_draft(
    path: Path,
    draft: Draft,
    gaps: Sequence[GapAdvice],
    bibliography: Bibliography,
    corpus: Corpus,
    cite_keys: str,
    style: ReferenceStyle | None,
) -> Completion:
    """Put the best paper into each gap: its key, or into a .docx its citation in a style of references."""
    if draft.kind != "docx":
        from cocite.drafts.completion import complete

        return complete(draft, gaps, bibliography, corpus, cite_keys)
    # The library for .docx is for these drafts alone.
    from cocite.drafts import reference_styles
    from cocite.drafts.style_names import DEFAULT_STYLE
    from cocite.drafts.word_completion import complete_word

    style = style or reference_styles.ReferenceStyle.named(DEFAULT_STYLE)
    return complete_word(path.read_bytes(), draft, gaps, corpus, style)


def write_draft(
    done: Completion, path: Path, opened: OpenedDraft, patch: Path | None, *, in_place: bool
) -> list[str]:
    """Write a completed draft, or a patch alone; the files written."""
    from cocite.drafts.writing import patch_of, write_completion

    if patch is None:
        bibliographies = dict(opened.bibliographies()[0])
        return write_completion(
            done, path, in_place=in_place, folder=opened.folder, bibliographies=bibliographies
        )
    data = patch_of(done, path, opened.folder)
    with replace_file(patch) as file:
        file.write(data)
    return [str(patch)]


def write_references(done: Completion, path: Path) -> None:
    """Write the references of the papers that a draft got, in the form that the name of the file says."""
    from cocite.corpus.references import form_of

    text = form_of(path).write(list(done.added.values()), list(done.added))
    with replace_file(path) as file:
        file.write(text.encode())


def note_written(done: Completion, files: list[str]) -> None:
    """Say what was written, and what stayed open."""
    for file in files:
        print_note(f"written: {file}")
    if done.unfilled:
        print_note(f"no citation was put into the gaps {', '.join(map(str, done.unfilled))}")
    if done.bibliography and not done.is_linked:
        print_note(f"the draft does not name {done.bib_name}: add it where you name your .bib files")


def show_report(report: Report, form: Literal["terminal", "markdown", "html"], *, as_json: bool) -> None:
    """Print a report in the form that was asked for."""
    if as_json:
        print_json(report.values())
    elif form == "terminal":
        print_report(report)
    else:
        out.print(report.markdown() if form == "markdown" else report.html(), soft_wrap=True)


def print_report(report: Report) -> None:
    """Print a report for people to read."""
    from cocite.drafts.report import (
        NONE_SUGGESTED,
        SUGGESTED,
        chance,
        cited_line,
        companion_reason,
        printable,
        reasons,
    )

    def line(text: str, style: str | None = None) -> None:
        out.print(printable(text), style=style)

    def answer(heading: str, gap: GapAdvice) -> None:
        line(heading, "bold")
        line(f"  {gap.gap.sentence}", "italic")
        for number, paper in enumerate(gap.papers, 1):
            line(f"  {number}. {report.line(paper)}{report.mark(paper)}{chance(paper)}")
            for reason in reasons(paper.evidence):
                line(f"     {reason}", "dim")
        if gap.note:
            line(f"  {gap.note}")
        line("")

    for gap in report.gaps:
        answer(f"Gap {gap.number}, {gap.gap.place}", gap)
    if report.suggestions is not None:
        line(SUGGESTED, "bold")
        if report.quality_line:
            line(report.quality_line)
        line("")
    for one in report.suggestions or ():
        answer(one.heading, one.advice)
    if report.cited:
        line("Cited already", "bold")
        for cited in report.cited:
            line(f"  {'✓' if cited.paper else '?'} {cited_line(cited)}")
        line("")
    if report.companions:
        line("Usually cited together with these", "bold")
        for companion in report.companions:
            line(
                f"  {report.line(companion.paper)}{report.mark(companion.paper)}: {companion_reason(companion)}"
            )
    if report.library_line:
        line(report.library_line)
    if report.suggestions is not None and not report.suggestions:
        print_note(NONE_SUGGESTED)
    if not report.gaps:
        print_note("the draft has no gaps: mark one with [CIT]")
