"""``cocite recommend``."""

from __future__ import annotations

import json
import zipfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from docx import Document
from helpers import crossref_api
from helpers.citing_papers import CITING, citing_corpus
from helpers.command_line import call as call_main
from helpers.crossref_api import FakeCrossref, work
from helpers.pdf_files import pdf_file
from helpers.reference_styles import BIBLIOGRAPHY, style_of
from helpers.word_files import add_runs, field_xml, zotero
from helpers.zotero_api import FakePlugin, FakeZotero, collection, group, item, served
from typer.testing import CliRunner

from cocite.cli.recommend import app
from cocite.corpus.starter import starter_corpus
from cocite.errors import InputError, NotFoundError
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite.systems.citing_sentences.classifier import CitingSentenceClassifier
from cocite_jobs.training.recipes import load_recipe
from cocite_jobs.training.train import train

DRAFT = r"""\documentclass{article}
\title{Neural machine translation}
\begin{document}
Self-attention replaced recurrence \cite{vaswani}.
Rare words are split into subword units \cite{?}.
\bibliography{refs}
\end{document}
"""
REFS = "@misc{vaswani, title={Attention Is All You Need}, year=2017}\n"


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("recommend") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return folder


@pytest.fixture
def draft(tmp_path: Path) -> Path:
    (tmp_path / "paper.tex").write_text(DRAFT)
    (tmp_path / "refs.bib").write_text(REFS)
    return tmp_path / "paper.tex"


def call(*arguments: object) -> str:
    result = CliRunner().invoke(app, [str(argument) for argument in arguments])
    if result.exception is not None:
        raise result.exception
    return result.stdout


def test_json(draft: Path, index: Path) -> None:
    values = json.loads(call(draft, "--index", index, "--top-k", 2, "--json"))
    [gap] = values["gaps"]
    assert (gap["file"], gap["line"]) == ("paper.tex", 5)
    assert "Subword" in gap["papers"][0]["title"]
    assert len(gap["papers"]) == 2
    assert values["cited"][0]["paper"] is not None
    assert len(values["usually_cited_together"]) == 5
    assert draft.read_text() == DRAFT


def test_reports(draft: Path, index: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "## Gap 1 (paper.tex:5)" in call(draft, "--index", index, "--format", "markdown")
    assert call(draft, "--index", index, "--format", "html").startswith("<!doctype html>")


def test_a_bibliography_that_the_draft_does_not_name(draft: Path, index: Path, tmp_path: Path) -> None:
    other = tmp_path / "other.bib"
    other.write_text(REFS.replace("Attention Is All You Need", "Of another field"))
    values = json.loads(call(draft, "--index", index, "--bib", other, "--json"))
    assert values["cited"] == [
        {"key": "vaswani", "title": "Of another field", "in_bibliography": True, "paper": None}
    ]


def test_what_cannot_be_answered(draft: Path, index: Path) -> None:
    draft.write_text("No gap.")
    with pytest.raises(
        InputError, match=r"the draft has neither gaps nor citations \(mark a gap with \[CIT\]\)"
    ):
        call(draft, "--index", index)
    with pytest.raises(NotFoundError, match=r"gone\.tex: no such file"):
        call(draft.with_name("gone.tex"), "--index", index)


def test_write_leaves_the_draft_as_it_is(draft: Path, index: Path) -> None:
    shown = call(draft, "--index", index, "--write")
    assert draft.read_text() == DRAFT
    copy = draft.with_name("paper-cited.tex").read_text()
    assert copy == DRAFT.replace("{?}", "{sennrich2016neural}").replace("{refs}", "{refs,paper-cited}")
    assert "+Rare words are split into subword units \\cite{sennrich2016neural}." in shown
    assert "@inproceedings{sennrich2016neural," in draft.with_name("paper-cited.bib").read_text()
    with pytest.raises(InputError, match="is there already, from an earlier --write"):
        call(draft, "--index", index, "--write")


def test_a_patch_is_all_that_is_written(draft: Path, index: Path, tmp_path: Path) -> None:
    before = {path: path.read_bytes() for path in draft.parent.iterdir() if path.is_file()}
    patch = tmp_path / "changes" / "cite.patch"
    shown = call(draft, "--index", index, "--patch", patch)
    assert "Gap 1" in shown
    assert b"+Rare words are split into subword units \\cite{sennrich2016neural}." in patch.read_bytes()
    assert {path: path.read_bytes() for path in draft.parent.iterdir() if path.is_file()} == before
    with pytest.raises(InputError, match=r"cite\.patch: is there already"):
        call(draft, "--index", index, "--patch", patch)
    with pytest.raises(InputError, match="--patch: goes without --write"):
        call(draft, "--index", index, "--patch", tmp_path / "b.patch", "--write")
    other = tmp_path / "c.patch"
    values = json.loads(
        call(draft, "--index", index, "--patch", other, "--cite-keys", "better-bibtex", "--json")
    )
    assert (values["written"], values["unfilled"]) == ([str(other)], [])
    assert "{sennrichNeuralMachineTranslation2016" in values["diff"]


def test_keys_of_better_bibtex(draft: Path, index: Path) -> None:
    call(draft, "--index", index, "--write", "--cite-keys", "better-bibtex")
    key = "sennrichNeuralMachineTranslation2016"
    assert f"\\cite{{{key}}}" in draft.with_name("paper-cited.tex").read_text()
    assert f"@inproceedings{{{key}," in draft.with_name("paper-cited.bib").read_text()
    with pytest.raises(InputError, match="--cite-keys: goes with --write"):
        call(draft, "--index", index, "--cite-keys", "better-bibtex")


def test_keys_of_a_formula(draft: Path, index: Path) -> None:
    call(draft, "--index", index, "--write", "--cite-keys", "authors(1).lower + '-' + shortyear")
    assert "\\cite{sennrichetal-16}" in draft.with_name("paper-cited.tex").read_text()
    with pytest.raises(InputError, match="^--cite-keys, character 8: cocite knows no function 'journal'"):
        call(draft, "--index", index, "--write", "--cite-keys", "auth + journal")


def test_the_new_references_are_written_in_the_form_that_a_name_says(
    draft: Path, index: Path, tmp_path: Path
) -> None:
    folder = tmp_path / "new"
    values = json.loads(call(draft, "--index", index, "--write", "--references", folder / "a.ris", "--json"))
    assert values["written"][-1] == str(folder / "a.ris")
    assert "ID  - sennrich2016neural" in (folder / "a.ris").read_text()
    word = Document()
    word.add_paragraph("Rare words are split into subword units [CIT].")
    word.save(str(tmp_path / "paper.docx"))
    call(tmp_path / "paper.docx", "--index", index, "--write", "--references", folder / "b.json")
    assert [one["id"] for one in json.loads((folder / "b.json").read_text())] == ["sennrich2016neural"]
    other = draft.with_name("other.tex")
    other.write_text(DRAFT)
    with pytest.raises(InputError, match=r"a\.ris: is there already"):
        call(other, "--index", index, "--write", "--references", folder / "a.ris")
    with pytest.raises(InputError, match="--references: goes with --write"):
        call(draft, "--index", index, "--references", folder / "c.ris")
    with pytest.raises(InputError, match="is no file of references by its name"):
        call(draft, "--index", index, "--write", "--references", folder / "c.txt")


def test_references_in_a_style(draft: Path, index: Path, tmp_path: Path) -> None:
    (tmp_path / "own.csl").write_text(style_of(BIBLIOGRAPHY))
    line = (draft, "--index", index, "--top-k", 1, "--together", 0, "--style", tmp_path / "own.csl")
    shown = "[1] Sennrich, R., Haddow, B., and Birch, A., “Neural Machine Translation of Rare Words with Subword Units”"
    assert shown in " ".join(call(*line).split())
    assert shown in call(*line, "--format", "html")
    assert shown.replace("[1]", r"\[1\]") in call(*line, "--format", "markdown")
    [gap] = json.loads(call(*line, "--json"))["gaps"]
    assert gap["papers"][0]["reference"].startswith(shown)
    named = json.loads(call(*line[:-1], "acl", "--json"))["gaps"][0]["papers"][0]
    assert named["reference"].startswith(
        "Rico Sennrich, Barry Haddow, and Alexandra Birch. 2016. Neural Machine"
    )
    with pytest.raises(InputError, match="--style: is for the report, which --write shows with --json alone"):
        call(*line, "--write")


def test_in_place(draft: Path, index: Path) -> None:
    values = json.loads(call(draft, "--index", index, "--write", "--in-place", "--json"))
    assert [Path(file).name for file in values["written"]] == ["paper-cited.bib", "paper.tex"]
    assert "sennrich2016neural" in draft.read_text()
    with pytest.raises(InputError, match="--in-place: goes with --write"):
        call(draft, "--index", index, "--in-place")


def test_a_word_file_is_finished_with_citations_as_text(index: Path, tmp_path: Path) -> None:
    document = Document()
    paragraph = document.add_paragraph("Self-attention replaced recurrence ")
    add_runs(paragraph, field_xml(zotero({"title": "Attention Is All You Need"}), "[1]"))
    paragraph.add_run(". Rare words are split into subword units [CIT].")
    document.add_paragraph("References", style="Heading 1")
    document.add_paragraph("[1] Someone. A thing that the corpus lacks.")
    path = tmp_path / "paper.docx"
    document.save(str(path))
    before = path.read_bytes()
    for option in (("--patch", tmp_path / "a.patch"), ("--write", "--cite-keys", "better-bibtex")):
        with pytest.raises(
            InputError, match=r"is for drafts with keys, which a \.docx has not \(use --write alone"
        ):
            call(path, "--index", index, *option)
    shown = call(path, "--index", index, "--write", "--top-k", 3)
    assert "+Self-attention replaced recurrence [1]. Rare words are split into subword units [2]." in shown
    assert "+[2] Sennrich, R., Haddow, B. and Birch, A. (2016) “Neural Machine" in " ".join(shown.split())
    assert path.read_bytes() == before
    lines = [one.text for one in Document(str(tmp_path / "paper-cited.docx")).paragraphs]
    assert [line[:12] for line in lines[2:]] == ["[1] Someone.", "[2] Sennrich"]
    assert sorted(one.name for one in tmp_path.iterdir() if one.is_file()) == [
        "paper-cited.docx",
        "paper.docx",
    ]
    (tmp_path / "own.csl").write_text(style_of(BIBLIOGRAPHY))
    line = ("--index", index, "--write", "--in-place", "--style", tmp_path / "own.csl", "--json")
    values = json.loads(call(path, *line))
    assert (values["written"], values["unfilled"]) == ([str(path)], [])
    assert [one["paper"] for one in values["cited"]] == ["vaswani2017attention"]
    assert "[2] Sennrich, R., Haddow, B., and Birch" in Document(str(path)).paragraphs[-1].text


def test_a_project_in_an_archive(draft: Path, index: Path, tmp_path: Path) -> None:
    path = tmp_path / "project.zip"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("paper/main.tex", DRAFT)
        archive.writestr("paper/refs.bib", REFS)
    found = json.loads(call(path, "--index", index, "--json"))
    alone = json.loads(call(draft, "--index", index, "--json"))
    assert found["draft"].pop("file") == "main.tex"
    assert alone["draft"].pop("file") == "paper.tex"
    assert [gap.pop("file") for gap in found["gaps"] + alone["gaps"]] == ["main.tex", "paper.tex"]
    assert found == alone
    call(path, "--index", index, "--write")
    with zipfile.ZipFile(tmp_path / "project-cited.zip") as archive:
        assert archive.namelist() == ["paper/main.tex", "paper/refs.bib", "paper/main-cited.bib"]
        assert b"\\cite{sennrich2016neural}" in archive.read("paper/main.tex")
    with zipfile.ZipFile(path, "a") as archive:
        archive.writestr("old/main.tex", DRAFT)
    with pytest.raises(InputError, match=r"2 files hold .*--main.*found: old/main\.tex, paper/main\.tex"):
        call(path, "--index", index)
    assert json.loads(call(path, "--index", index, "--main", "paper/main.tex", "--json"))["gaps"]


def test_a_pdf_is_read_and_not_written(index: Path, tmp_path: Path) -> None:
    path = tmp_path / "paper.pdf"
    path.write_bytes(pdf_file([[(10, "Rare words are split into sub-"), (10, "word units [CIT].")]]))
    [gap] = json.loads(call(path, "--index", index, "--json"))["gaps"]
    assert "Subword" in gap["papers"][0]["title"]
    assert gap["sentence"] == "Rare words are split into subword units [CIT]."
    with pytest.raises(InputError, match=r"paper\.pdf: a \.pdf draft cannot be written"):
        call(path, "--index", index, "--write")


def test_what_the_author_has_is_marked_or_left_out(draft: Path, index: Path, tmp_path: Path) -> None:
    line = (draft, "--index", index, "--top-k", 3, "--together", 3)
    before = json.loads(call(*line, "--json"))

    def ids(values: dict[str, Any]) -> list[str]:
        return [one["id"] for one in (*values["gaps"][0]["papers"], *values["usually_cited_together"])]

    first, companion = ids(before)[0], ids(before)[3]
    ones, others = tmp_path / "have.txt", tmp_path / "have.bib"
    ones.write_text(f"# on my desk\n{first}\n10.1/elsewhere\n")
    others.write_text(f"@misc{{x, title = {{{before['usually_cited_together'][0]['title']}}}}}")
    have = ("--have", ones, "--have", others)
    values = json.loads(call(*line, *have, "--json"))
    assert ids(values) == ids(before)
    marked = {
        one["id"]
        for one in (*values["gaps"][0]["papers"], *values["usually_cited_together"])
        if one["in_library"]
    }
    assert marked == {first, companion}
    for options in ((), ("--format", "markdown"), ("--format", "html")):
        text = " ".join(call(*line, *have, *options).split())
        assert text.count("(in my library)") == sum(ids(before).count(id_) for id_ in marked)
        assert f"2 are in my library, and it lacks {values['library']['lacking']}." in text
    assert values["library"] == {"in_library": 2, "lacking": len({*ids(before)}) - 2}
    new = json.loads(call(*line, *have, "--new", "--json"))
    assert not {first, companion} & set(ids(new))
    assert (len(new["gaps"][0]["papers"]), len(new["usually_cited_together"])) == (3, 3)
    rest = [one["id"] for one in before["usually_cited_together"] if one["id"] not in marked]
    assert [one["id"] for one in new["usually_cited_together"]][: len(rest)] == rest
    assert json.loads(call(*line, *have, "--new", "--together", 0, "--json"))["usually_cited_together"] == []


def test_what_zotero_has_is_marked(
    draft: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    [first, *_] = json.loads(call(draft, "--index", index, "--json"))["gaps"][0]["papers"]
    fake = FakeZotero(
        {
            "collections": [collection("KEY1", "To read / now")],
            "collections/KEY1/items/top": [
                item("A", title=first["title"]),
                item("B", title="Of another field"),
            ],
        }
    )
    with served(fake):
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        line = ("recommend", draft, "--index", index, "--have", "zotero:To read / now")
        code, out, err = call_main(capsys, *line, "--json")
    assert code == 0
    marked = [
        paper["id"] for gap in json.loads(out)["gaps"] for paper in gap["papers"] if paper["in_library"]
    ]
    assert set(marked) == {first["id"]}
    assert "of 2 papers that you have, 1 are in the corpus" in err


def test_the_own_keys_of_zotero_are_written(
    tmp_path: Path, index: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    paper = tmp_path / "paper.md"
    paper.write_text("# Notes\n\nBLEU compares translations [@?], as in @mine.")
    [best, *_] = json.loads(call(paper, "--index", index, "--json"))["gaps"][0]["papers"]
    items = [
        item("A", title=best["title"]),
        item("B", title="Of another field", citationKey="mine"),
    ]
    plugin = FakePlugin({"2:A": "ourBest2002"}, {1: "My Library", 2: "Lab"})
    fake = FakeZotero({"groups": [group(17, "Lab")], "groups/17/items/top": items}, plugin=plugin)
    with served(fake):
        monkeypatch.setenv("COCITE_ZOTERO_PORT", str(fake.port))
        line = ("recommend", paper, "--index", index, "--bib", "zotero:groups/Lab", "--write", "--json")
        code, out, _ = call_main(capsys, *line)
    assert code == 0
    [cited] = json.loads(out)["cited"]
    assert (cited["key"], cited["title"]) == ("mine", "Of another field")
    assert (
        "BLEU compares translations [@ourBest2002], as in @mine." in (tmp_path / "paper-cited.md").read_text()
    )
    assert not (tmp_path / "paper-cited.bib").exists()


def test_dois_that_the_corpus_lacks_are_asked_for_where_that_is_wanted(
    draft: Path,
    index: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    [first, *_] = json.loads(call(draft, "--index", index, "--json"))["gaps"][0]["papers"]
    (tmp_path / "have.txt").write_text("10.5555/first\n")
    line = ("recommend", draft, "--index", index, "--have", tmp_path / "have.txt", "--json")
    with crossref_api.served(FakeCrossref([work("10.5555/first", first["title"])])) as fake:
        monkeypatch.setenv("COCITE_CROSSREF_URL", fake.address)
        assert '"in_library": true' not in call_main(capsys, *line)[1]
        assert fake.asked == []
        code, out, err = call_main(capsys, *line, "--lookup", "crossref")
    marked = {one["id"] for gap in json.loads(out)["gaps"] for one in gap["papers"] if one["in_library"]}
    assert (code, marked) == (0, {first["id"]})
    assert "Crossref was asked for the titles of 1 DOIs that the corpus lacks" in err
    with pytest.raises(InputError, match="--lookup: goes with --have"):
        call(draft, "--index", index, "--lookup", "crossref")


def test_how_much_of_a_library_is_in_the_corpus_is_said(
    draft: Path, index: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "have.bib").write_text(REFS + "@misc{x, title={Of another field}}\n@misc{broken, title={")
    code, _, err = call_main(
        capsys, "recommend", draft, "--index", index, "--have", tmp_path / "have.bib", "--json"
    )
    assert code == 0
    assert "of 2 papers that you have, 1 are in the corpus" in err
    assert "1 entries of --have could not be read" in err
    with pytest.raises(InputError, match="--new: goes with --have"):
        call(draft, "--index", index, "--new")


def test_suggestions(index: Path, tmp_path: Path) -> None:
    recipe = load_recipe("citing-sentences", ["width=4096", "features=[words]"])
    trained = train(recipe, citing_corpus(tmp_path / "corpus"), tmp_path / "model")
    made = CitingSentenceClassifier.load(trained.folder)
    # On dev any threshold between the two kinds of sentences is the best; this one is far from both.
    replace(made, settings=made.settings.model_copy(update={"threshold": 0.5})).save(
        trained.folder, {"details": {"test P": 0.47, "test R": 0.53}}
    )
    paper = tmp_path / "paper.md"
    paper.write_text("\n\n".join(f"{CITING.format(topic)}." for topic in ("translation", "dialogue")))
    line = (paper, "--index", index, "--model", tmp_path / "model", "--suggest", "--top-k", 2)
    values = json.loads(call(*line, "--json"))
    assert [(one["suggestion"], one["line"]) for one in values["suggestions"]] == [(1, 1), (2, 3)]
    assert all(len(one["papers"]) == 2 for one in values["suggestions"])
    assert len(json.loads(call(*line, "--suggestions", 1, "--json"))["suggestions"]) == 1
    assert values["suggestion_quality"] == {"precision": 0.47, "recall": 0.53}
    told = "In papers that the model has not seen, 47 of 100 sentences that it picks cite"
    for form in ("terminal", "markdown", "html"):
        # A terminal breaks lines.
        assert told in " ".join(call(*line, "--format", form).split())
    assert "Suggestion 2, paper.md:3, probability" in call(*line, "--format", "markdown")
    assert "Suggestion 2, paper.md:3, probability" in call(*line)
    with pytest.raises(InputError, match="--suggestions: goes with --suggest"):
        call(paper, "--index", index, "--suggestions", 2)
    with pytest.raises(NotFoundError, match="--suggest: there is no model that knows"):
        call(paper, "--index", index, "--suggest")
