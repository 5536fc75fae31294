"""``cocite recommend``: papers for the gaps of a draft."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from cocite.cli.console import out, print_json, print_note, print_warnings, spinner
from cocite.cli.locations import INPUT, with_local_paths
from cocite.cli.options import CiteKeysOption, JsonOption, NoVerifyOption
from cocite.cli.recommend_checks import open_checked, require_draft, require_partners
from cocite.cli.recommend_output import (
    complete_draft,
    note_written,
    show_report,
    write_draft,
    write_references,
)
from cocite.cli.seed_list import recommend_like, seed_rows
from cocite.errors import InputError

if TYPE_CHECKING:
    from collections.abc import Set

    from cocite.corpus.store import Corpus
    from cocite.drafts.advice import Adviser, Companion
    from cocite.drafts.bibliography import Bibliography
    from cocite.drafts.library import Library
    from cocite.drafts.reading import OpenedDraft

app = typer.Typer(rich_markup_mode=None)


@app.command(epilog="docs/guide-author.md shows a draft with its gaps.")
@with_local_paths
def recommend(
    index: Annotated[Path, typer.Option(**INPUT, help="Index folder: the papers to recommend.")],
    draft: Annotated[
        Path | None,
        typer.Argument(
            metavar="DRAFT",
            help="A draft: .tex (or its folder, or a .zip of it), .md, .txt, .docx or .pdf; without one, papers like "
            "those of --like are recommended.",
            show_default=False,
        ),
    ] = None,
    like: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Paper of the corpus whose like is wanted, by its id, DOI, arXiv, ACL or S2 id; up to 50. It is not "
            "recommended itself.",
        ),
    ] = None,
    dislike: Annotated[
        list[str] | None,
        typer.Option(
            metavar="ID",
            help="Paper of the corpus whose like is not wanted, named as in --like; up to 50. It is not recommended "
            "itself.",
        ),
    ] = None,
    like_cited: Annotated[
        bool, typer.Option("--like-cited", help="Take what the draft cites for papers of --like, too.")
    ] = False,
    model: Annotated[
        Path | None,
        typer.Option(**INPUT, help="Model folder; without it nothing that was learned is used."),
    ] = None,
    bib: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|zotero:[COLLECTION]",
            help="The draft's .bib file, or the Zotero that runs on this machine, whose citation keys are used; any "
            "number [default: the files that the draft names, in its folder].",
        ),
    ] = None,
    have: Annotated[
        list[str] | None,
        typer.Option(
            metavar="FILE|zotero:[COLLECTION]",
            help="Papers that you have, any number of libraries: a .bib, .ris, .xml (EndNote), .rdf (Zotero) or .json "
            "(CSL-JSON), a list of DOIs, arXiv numbers, ACL ids or ids of the corpus, or the Zotero that runs on this "
            "machine. They are marked.",
        ),
    ] = None,
    lookup: Annotated[
        Literal["crossref"] | None,
        typer.Option(help="With --have: send the lists' DOIs that the corpus lacks there, for their titles."),
    ] = None,
    new: Annotated[bool, typer.Option("--new", help="With --have: leave out what you have.")] = False,
    main: Annotated[
        str, typer.Option(metavar="NAME", help="Main file in a .zip that holds several LaTeX documents.")
    ] = "",
    top_k: Annotated[int, typer.Option(min=1, max=100, help="Papers for each gap, or for --like.")] = 5,
    together: Annotated[
        int, typer.Option(min=0, max=100, help="Papers usually cited together with the draft's; 0: none.")
    ] = 5,
    year: Annotated[
        int | None,
        typer.Option(
            min=1, max=9999, help="Year of the draft: later papers are not recommended [default: its own]."
        ),
    ] = None,
    suggest: Annotated[
        bool,
        typer.Option(
            "--suggest",
            help="Also the sentences that cite nothing and seem to need a citation, and papers for each; the model "
            "folder needs a citing-sentences.",
        ),
    ] = False,
    suggestions: Annotated[
        int | None, typer.Option(min=1, max=100, help="With --suggest: sentences at most [default: 5].")
    ] = None,
    author: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME",
            help="Author of the draft, as the corpus writes names; any number [default: its own].",
        ),
    ] = None,
    write: Annotated[
        bool,
        typer.Option(
            "--write",
            help="Put the best paper's key into each gap of a copy beside the draft, with a .bib file, and show the "
            "difference; of a .docx its citation as text, with its reference in the list.",
        ),
    ] = False,
    patch: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="Write what --write would change to this file alone, as a patch for 'git apply' and 'patch -p1' in "
            "the draft's folder.",
        ),
    ] = None,
    in_place: Annotated[
        bool, typer.Option("--in-place", help="With --write: change the draft itself, in place of a copy.")
    ] = False,
    cite_keys: CiteKeysOption = None,
    references: Annotated[
        Path | None,
        typer.Option(
            metavar="FILE",
            help="With --write: also write the references of the papers that the draft gets to this file, by the end "
            "of its name as BibTeX (.bib), RIS (.ris) or CSL-JSON (.json).",
        ),
    ] = None,
    style: Annotated[
        str | None,
        typer.Option(
            metavar="FILE|NAME",
            help="Style of references in the report, or in the .docx of --write: a .csl file, or a name of CSL's "
            "public repository, or apa, acl, acm, chicago, harvard, ieee, nature or vancouver.",
        ),
    ] = None,
    as_json: JsonOption = False,
    format_: Annotated[
        Literal["terminal", "markdown", "html"], typer.Option("--format", help="Form of the report.")
    ] = "terminal",
    _no_verify: NoVerifyOption = False,
) -> None:
    r"""Recommend papers for each gap of a draft: \cite{}, \cite{?}, \todo{cite}, [@?], [CIT], [?], (citation needed).

    What the draft cites is looked up in the corpus and never recommended again. The draft is only read,
    unless --write --in-place is given. Without a draft, papers are recommended for those of --like alone.
    """
    from cocite.corpus.references import form_of
    from cocite.drafts.advice import Adviser
    from cocite.drafts.crossref import crossref_papers
    from cocite.drafts.library import Library
    from cocite.drafts.reference_list import with_references
    from cocite.drafts.reference_styles import ReferenceStyle, by_id
    from cocite.drafts.report import Report, printable
    from cocite.drafts.suggestions import load_classifier, papers_of
    from cocite.drafts.suggestions import suggestions as suggested_sentences
    from cocite.pipeline.options import Options
    from cocite.pipeline.recommender import Recommender

    require_partners(
        write=write,
        patch=patch is not None,
        in_place=in_place,
        cite_keys=cite_keys is not None,
        references=references is not None,
        have=bool(have),
        new=new,
        lookup=lookup is not None,
        suggest=suggest,
        suggestions=suggestions is not None,
    )
    if references is not None:
        form_of(references)
    is_word = draft is not None and draft.suffix.lower() == ".docx"
    if style is not None and write and not as_json and not is_word:
        raise InputError("is for the report, which --write shows with --json alone", where="--style")
    if draft is None:
        require_draft(
            bib=bib is not None,
            have=bool(have),
            main=bool(main),
            suggest=suggest,
            write=write,
            patch=patch is not None,
            style=style is not None,
            like_cited=like_cited,
            format=format_ != "terminal",
        )
        if not like:
            raise InputError(
                "there is nothing to recommend papers for",
                where="recommend",
                hint="give a draft, or --like ID",
            )
        with spinner("opening the index"):
            recommender = Recommender.load(model, index)
        print_warnings(*recommender.exclusion_notes)
        recommend_like(
            recommender,
            like,
            dislike or (),
            year=year,
            authors=author or (),
            top_k=top_k,
            as_json=as_json,
        )
        return
    reference_style = None if style is None else ReferenceStyle.read(style)
    classifier = load_classifier(model) if suggest else None
    path, opened = open_checked(
        draft,
        main,
        suggest=suggest,
        write=write,
        in_place=in_place,
        patch=patch,
        cite_keys=cite_keys is not None,
        references=references,
    )
    print_warnings(*opened.draft.warnings)
    with spinner("opening the index"):
        recommender = Recommender.load(model, index)
    print_warnings(*recommender.exclusion_notes)
    corpus = recommender.index.corpus
    bibliography = _bibliography(opened, bib, corpus)
    library = Library.read(have or [], corpus, crossref_papers if lookup else None)
    if have:
        _note_library(library)
    likes, dislikes = seed_rows(corpus, like or (), dislike or ())
    read, bibliography = with_references(opened.draft, bibliography, corpus)
    if like_cited:
        cited = bibliography.cited_rows(read).values()
        likes += [row for row in cited if row not in {*likes, *dislikes}]
    adviser = Adviser(
        recommender, read, bibliography, year=year, authors=author or (), like=likes, dislike=dislikes
    )
    options = Options(top_k=top_k, exclude=library.rows if new else ())
    with spinner("ranking papers"):
        gaps = list(adviser.gaps(options))
        suggested = None
        if classifier is not None:
            suggested = list(
                papers_of(adviser, suggested_sentences(read, classifier, suggestions or 5), options)
            )
    owned = frozenset(corpus.ids(library.rows))
    companions = _companions(adviser, together, without=owned if new else frozenset())
    report = Report(read, gaps, adviser.cited(), companions, owned if have else None, suggested)
    if classifier is not None:
        report = replace(report, suggestion_quality=classifier.quality)
    if reference_style is not None:
        report = replace(report, references=by_id(reference_style, report.papers()))
    if not (write or patch):
        show_report(report, format_, as_json=as_json)
        return
    done = complete_draft(path, read, gaps, bibliography, corpus, cite_keys or "cocite", reference_style)
    files = write_draft(done, path, opened, patch, in_place=in_place)
    if references is not None:
        write_references(done, references)
        files.append(str(references))
    if as_json:
        written = {"written": files, "unfilled": list(done.unfilled), "diff": done.diff()}
        print_json({**report.values(), **written})
    elif write:
        out.print(printable(done.diff()), soft_wrap=True)
    else:
        show_report(report, format_, as_json=False)
    note_written(done, files)


def _bibliography(opened: OpenedDraft, sources: list[str] | None, corpus: Corpus) -> Bibliography:
    """The entries of the sources given, or else of those that the draft names; a warning for each that is not there."""
    from cocite.corpus.importers.bibtex import bibtex_papers
    from cocite.drafts.bibliography import Bibliography

    if sources is not None:
        return Bibliography.read(sources, corpus)
    found, missing = opened.bibliographies()
    for name in missing:
        print_warnings(f"the bibliography {name!r} is no file in the draft's folder: give it by --bib")
    return Bibliography.of((paper for _, data in found for paper in bibtex_papers(data)), corpus)


def _note_library(library: Library) -> None:
    """Say how many of the papers that an author has the corpus holds."""
    print_note(f"of {library.entries:,} papers that you have, {library.found:,} are in the corpus")
    if library.asked:
        print_note(f"Crossref was asked for the titles of {library.asked:,} DOIs that the corpus lacks")
    if library.unread:
        print_warnings(f"{library.unread:,} entries of --have could not be read")


def _companions(adviser: Adviser, k: int, *, without: Set[str]) -> list[Companion]:
    """The ``k`` papers that are most often cited together with the draft's, but for some."""
    width = k
    while True:
        found = adviser.companions(width)
        kept = [one for one in found if one.paper.id not in without]
        if len(kept) >= k or len(found) < width:
            return kept[:k]
        width *= 2
