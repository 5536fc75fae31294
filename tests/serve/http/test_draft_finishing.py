"""Finished drafts: with the best papers, as the last line of an answer, and with those that an author chose."""

from __future__ import annotations

import base64
import io
import re
import zipfile
from typing import Any

import pytest
from docx import Document
from helpers.api_backend import InProcess
from helpers.drafts_api import FILES, MAIN, PART, lines, sent, served
from helpers.pdf_files import pdf_file

from cocite_serve.http.draft_schemas import DraftEnd, Finished


def finished(api: Any, files: dict[str, Any], **options: Any) -> tuple[Finished, dict[int, str]]:
    """What the last line brings, and the key of each gap's best paper."""
    _, *gaps, last = lines(api, files, finished=True, **options)
    end = DraftEnd.model_validate(last)
    assert end.problem is None
    assert end.finished is not None
    return end.finished, {gap["gap"]: gap["cite"][0] for gap in gaps if gap["cite"]}


def test_a_project_gets_the_keys_of_its_lines(backend: InProcess) -> None:
    done, keys = finished(served(backend), FILES)
    assert done.unfilled == []
    assert keys[2] == "bleu", "the draft's own key"
    texts = {file.name: file.text for file in done.files}
    assert texts == {
        "main.tex": MAIN.replace("{?}", f"{{{keys[1]}}}").replace("{refs}", "{refs,main-cited}"),
        "parts/scores.tex": PART.replace("[CIT]", "\\cite{bleu}"),
    }
    assert f"\n+Rare words are split into subword units \\cite{{{keys[1]}}}." in done.diff
    assert (done.bib_name, done.bib.count("@")) == ("main-cited.bib", 1)
    assert f"{{{keys[1]}," in done.bib
    better, keys = finished(served(backend), FILES, cite_keys="better-bibtex")
    assert keys[1] == "sennrichNeuralMachineTranslation2016"
    assert f"{{{keys[1]}," in better.bib


def test_nothing_is_brought_unless_it_is_asked_for(backend: InProcess) -> None:
    *_, last = lines(served(backend), FILES)
    assert (last["finished"], last["problem"]) == (None, None)


def test_a_word_file_and_an_archive_come_back_as_they_were_sent(backend: InProcess) -> None:
    word = Document()
    word.add_paragraph("Rare words are split into subword units [CIT].")
    buffer = io.BytesIO()
    word.save(buffer)
    done, _ = finished(served(backend, limits={"draft_bytes": 100_000}), {"a.docx": buffer.getvalue()})
    assert (done.bib, [file.name for file in done.files]) == ("", ["a.docx"])
    made = Document(io.BytesIO(base64.b64decode(done.files[0].base64 or "")))
    texts = [paragraph.text for paragraph in made.paragraphs]
    assert texts[0] == "Rare words are split into subword units (Sennrich et al., 2016)."
    assert texts[-1].startswith("Sennrich, R., Haddow, B. and Birch, A. (2016)")
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w") as archive:
        for name, text in {**FILES, "figure.png": "..."}.items():
            archive.writestr(f"paper/{name}", text)
    done, keys = finished(served(backend), {"project.zip": packed.getvalue()})
    with zipfile.ZipFile(io.BytesIO(base64.b64decode(done.files[0].base64 or ""))) as archive:
        assert "paper/figure.png" in archive.namelist()
        assert archive.read("paper/main-cited.bib").decode() == done.bib
        assert f"\\cite{{{keys[1]}}}" in archive.read("paper/main.tex").decode()


def test_gaps_without_words_stay(backend: InProcess) -> None:
    done, _ = finished(served(backend), {"a.txt": "[CIT]"})
    assert (done.files, done.diff, done.bib, done.unfilled) == ([], "", "", [1])


def test_a_pdf_is_refused_before_its_gaps_are_answered(backend: InProcess) -> None:
    files = sent({"a.pdf": pdf_file([[(10, "Words are split [CIT].")]])})
    answer = served(backend).post("/v1/draft", json={"files": files, "finished": True})
    assert answer.status_code == 422
    assert answer.json()["error"] == "finished: a .pdf draft is read, and not written; send its source."


def test_a_finished_draft_above_the_limit_is_a_problem_of_the_last_line(backend: InProcess) -> None:
    text = "We parse trees [CIT]. " + "x" * 1_500
    *_, last = lines(served(backend, limits={"draft_bytes": 2_000}), {"a.txt": text}, finished=True)
    assert (last["finished"], last["answered"]) == (None, 1)
    assert last["problem"]["field"] == "finished"
    assert "at most 2,000 are allowed" in last["problem"]["error"]


def test_the_files_of_too_many_drafts_are_not_held(
    backend: InProcess, monkeypatch: pytest.MonkeyPatch
) -> None:
    from cocite_serve.http.draft_reading import DraftReader

    made: list[DraftReader] = []
    start = DraftReader.__init__
    monkeypatch.setattr(
        DraftReader, "__init__", lambda self, service: (start(self, service), made.append(self))[0]
    )
    api = served(backend, limits={"drafts_waiting": 1})
    body = {"files": sent({"a.txt": "We parse trees [CIT]."})}
    [reader] = made
    with reader.holding():
        refused = api.post("/v1/draft", json={**body, "finished": True})
        assert (refused.status_code, refused.json()["reason"]) == (429, "overloaded")
        assert api.post("/v1/draft", json=body).status_code == 200
    assert lines(api, {"a.txt": "We parse trees [CIT]."}, finished=True)[-1]["finished"] is not None
    assert reader.held == 0


def test_what_the_draft_cites_steers_its_lists_where_that_is_asked_for(backend: InProcess) -> None:
    api = served(backend)

    def found(**options: Any) -> dict[int, list[str]]:
        _, *gaps, _ = lines(api, FILES, top_k=10, depth=50, **options)
        return {gap["gap"]: [paper["id"] for paper in gap["answer"]["papers"]] for gap in gaps}

    assert found(like_cited=True) == found(like=["vaswani2017attention"]) != found()
    # As many as there is room for.
    few = served(backend, limits={"seeds": 1})
    *_, gap, _ = lines(few, {"a.txt": "We parse trees [CIT]."}, like=["post2018call"], like_cited=True)
    assert gap["status"] == 200


def test_the_author_s_papers_are_marked(backend: InProcess) -> None:
    api = served(backend, limits={"have": 2})
    have = ["sennrich2016neural", "no-such-paper"]
    _, *gaps, last = lines(api, FILES, have=have)
    marked = {paper["id"]: paper["in_library"] for gap in gaps for paper in gap["answer"]["papers"]}
    assert marked["sennrich2016neural"] is True
    assert set(marked.values()) == {True, False}
    assert {paper["in_library"] for paper in last["usually_cited_together"]} <= {True, False}
    refused = api.post("/v1/draft", json={"files": sent(FILES), "have": ["a"] * 3})
    assert refused.json()["error"] == "have: at most 2 papers are allowed, got 3."


LDA, BLEU, SUBWORDS = "blei2003latent", "papineni2002bleu", "sennrich2016neural"


def chosen(api: Any, files: dict[str, Any], papers: dict[int, list[str]], **options: Any) -> Finished:
    """A draft with papers in its gaps, by the numbers of these."""
    body = {"files": sent(files), "chosen": [{"gap": gap, "papers": ids} for gap, ids in papers.items()]}
    answer = api.post("/v1/draft/finished", json=body | options)
    assert answer.status_code == 200, answer.text
    return Finished.model_validate(answer.json())


def test_a_project_gets_the_chosen_papers_and_a_gap_without_any_stays(backend: InProcess) -> None:
    api = served(backend)
    done = chosen(api, FILES, {2: [LDA, BLEU, LDA]})
    assert done.unfilled == [1]
    texts = {file.name: file.text for file in done.files}
    assert texts == {
        "main.tex": MAIN.replace("{refs}", "{refs,main-cited}"),
        "parts/scores.tex": PART.replace("[CIT]", "\\cite{blei2003latent,bleu}"),
    }
    assert done.bib.count("@") == 1, "the other one is in the draft's own bibliography"
    assert "{blei2003latent," in done.bib
    better = chosen(api, FILES, {1: [LDA], 2: [LDA]}, cite_keys="better-bibtex")
    assert (better.unfilled, better.bib.count("@")) == ([], 1)
    assert "{bleiLatentDirichletAllocation2003," in better.bib


def test_markdown_gets_the_keys_of_the_bibliography_that_is_sent(backend: InProcess) -> None:
    bib = "@misc{mine, title={Latent Dirichlet Allocation}, year=2003}"
    done = chosen(served(backend), {"a.md": "Topics [@?], scores [@?]."}, {1: [LDA], 2: [BLEU]}, bib=bib)
    assert [file.text for file in done.files] == ["Topics [@mine], scores [@papineni2002bleu]."]
    assert (done.bib.count("@"), done.bib_name) == (1, "a-cited.bib")


def test_a_word_file_gets_the_chosen_papers_in_the_chosen_style(backend: InProcess) -> None:
    word = Document()
    word.add_paragraph("Topics are found [CIT]. Words are split [CIT]. Scores are BLEU [CIT].")
    buffer = io.BytesIO()
    word.save(buffer)
    files, api = {"a.docx": buffer.getvalue()}, served(backend, limits={"draft_bytes": 200_000})
    done = chosen(api, files, {3: [BLEU], 1: [LDA, SUBWORDS]}, style="ieee")
    assert (done.unfilled, done.bib, [file.name for file in done.files]) == ([2], "", ["a.docx"])
    made = Document(io.BytesIO(base64.b64decode(done.files[0].base64 or "")))
    texts = [paragraph.text for paragraph in made.paragraphs]
    assert texts[0] == "Topics are found [1, 2]. Words are split [CIT]. Scores are BLEU [3]."
    assert [text.partition(". ")[0] for text in texts[2:]] == ["[1] D", "[2] R", "[3] K"]
    same = chosen(api, files, {})
    assert (same.unfilled, same.diff) == ([1, 2, 3], "")
    assert base64.b64decode(same.files[0].base64 or "") == files["a.docx"]
    best = lines(api, files, finished=True, style="acl")[-1]["finished"]
    made = Document(io.BytesIO(base64.b64decode(best["files"][0]["base64"])))
    assert re.search(r"\w\. \d{4}\. \w", made.paragraphs[-1].text), "authors. year. title."


ONE = {"gap": 1, "papers": [BLEU]}
TEXT = {"a.txt": "We parse trees [CIT]."}


@pytest.mark.parametrize(
    ("files", "options", "error"),
    [
        (TEXT, {}, "chosen: is required"),
        (TEXT, {"chosen": [{"gap": 0, "papers": [BLEU]}]}, "chosen.0.gap: "),
        (TEXT, {"chosen": [{"gap": 1, "papers": []}]}, "chosen.0.papers: "),
        (TEXT, {"chosen": [{"gap": 1, "papers": [BLEU] * 21}]}, "chosen.0.papers: "),
        (
            TEXT,
            {"chosen": [{"gap": 1, "papers": ["x" * 101]}]},
            "chosen.0.papers: a value may have at most 100 char",
        ),
        (
            TEXT,
            {"chosen": [{"gap": n, "papers": [BLEU]} for n in (1, 2, 3, 4)]},
            "chosen: at most 3 gaps are allowed, got 4",
        ),
        (TEXT, {"chosen": [ONE, ONE]}, "chosen.1.gap: the gap 1 stands twice"),
        (
            TEXT,
            {"chosen": [{"gap": 1, "papers": [BLEU, "gone"]}]},
            "chosen.0.papers: the corpus has no paper with the id 'gone'",
        ),
        (TEXT, {"chosen": [{"gap": 2, "papers": [BLEU]}]}, "chosen.0.gap: the draft has 1 gap, so none is 2"),
        ({"a.txt": "We parse."}, {"chosen": [ONE]}, "chosen.0.gap: the draft has no gap, so none is 1"),
        (TEXT, {"chosen": [ONE], "style": "none"}, "style: no style has this name; some are acl, acm, apa"),
        (TEXT, {"chosen": [ONE], "finished": True}, "finished: there is no such field"),
        ({"a.odt": "x"}, {"chosen": [ONE]}, "files: a.odt: is of no known kind"),
        ({"a.docx": b"no archive"}, {"chosen": [ONE]}, "files: a.docx: is no .docx"),
        (
            {"a.pdf": pdf_file([[(10, "Words are split [CIT].")]])},
            {"chosen": [ONE]},
            "files: a .pdf draft is read, and not written; send its source",
        ),
    ],
)
def test_what_is_refused_of_choices(
    backend: InProcess, files: dict[str, Any], options: dict[str, Any], error: str
) -> None:
    answer = served(backend).post("/v1/draft/finished", json={"files": sent(files), **options})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(error)


def test_a_draft_that_gets_too_large_is_refused(backend: InProcess) -> None:
    files = sent({"a.txt": "We parse trees [CIT]. " + "x" * 1_500})
    api = served(backend, limits={"draft_bytes": 2_000})
    answer = api.post("/v1/draft/finished", json={"files": files, "chosen": [ONE]})
    assert answer.status_code == 422
    assert "files: the finished draft and its difference have" in answer.json()["error"]
    answer = api.post("/v1/draft/finished", json={"files": files, "bib": "x" * 2_000, "chosen": [ONE]})
    assert answer.status_code == 413
