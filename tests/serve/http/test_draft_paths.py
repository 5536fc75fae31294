"""``/v1/draft`` over stages in this process."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from helpers.api_backend import InProcess
from helpers.drafts_api import FILES, MAIN, PART, REFS, lines, sent, served
from helpers.pdf_files import pdf_file
from helpers.sure_classifier import sure_model

from cocite_serve.http.draft_schemas import DraftEnd, DraftHead, GapLine, SuggestionLine


def test_a_project(backend: InProcess) -> None:
    api = served(backend)
    first, *gaps, last = lines(api, FILES, top_k=3, depth=50)
    head = DraftHead.model_validate(first)
    assert (head.title, head.gaps, head.form, head.file) == (
        "Neural machine translation",
        2,
        "latex",
        "main.tex",
    )
    assert [(one.key, one.id, bool(one.title)) for one in head.cited] == [
        ("vaswani", "vaswani2017attention", True),
        ("gone", None, False),
    ]
    told = {line["gap"]: GapLine.model_validate(line) for line in gaps}
    assert [(told[n].file, told[n].line) for n in (1, 2)] == [("main.tex", 5), ("parts/scores.tex", 1)]
    assert told[1].sentence == "Rare words are split into subword units [CIT]."
    answers = [told[n].answer for n in (1, 2)]
    for answer, gap in zip(answers, (told[1], told[2]), strict=True):
        assert answer is not None
        assert len(answer.papers) == len(gap.cite) == 3
        assert answer.papers[0].evidence is not None
        assert answer.next is None
        assert "vaswani2017attention" not in [paper.id for paper in answer.papers]
    assert told[1].cite[0] == "sennrich2016neural"
    end = DraftEnd.model_validate(last)
    assert (end.answered, end.empty, end.refused) == (2, 0, 0)
    assert len(end.usually_cited_together) == 5
    # A gap gets what its context gets alone.
    assert answers[0] is not None
    alone = api.post(
        "/v1/recommend",
        json={
            "title": head.title,
            "context": answers[0].context,
            "top_k": 3,
            "depth": 50,
            "exclude": ["vaswani2017attention"],
        },
    ).json()
    assert [paper["id"] for paper in alone["papers"]] == [paper.id for paper in answers[0].papers]


def test_the_draft_s_own_key_of_a_paper_is_used(backend: InProcess) -> None:
    _, *gaps, _ = lines(served(backend), FILES, top_k=20, depth=50)
    keys = {
        paper["id"]: key
        for gap in gaps
        for paper, key in zip(gap["answer"]["papers"], gap["cite"], strict=True)
    }
    assert keys["papineni2002bleu"] == "bleu"
    assert len(set(keys.values())) == len(keys)


def test_text_a_pdf_and_a_bibliography_apart(backend: InProcess) -> None:
    api = served(backend)
    first, gap, last = lines(
        api, {"a.md": "# BLEU\n\nAttention [@v] and words [@?]."}, bib=REFS.replace("vaswani", "v")
    )
    assert first["cited"][0]["id"] == "vaswani2017attention"
    assert gap["sentence"] == "Attention [OTHERCIT] and words [CIT]."
    assert last["answered"] == 1
    first, gap, _ = lines(
        api, {"a.pdf": pdf_file([[(10, "Words are split into sub-"), (10, "word units [CIT].")]])}
    )
    assert (first["form"], gap["line"], gap["sentence"]) == (
        "pdf",
        1,
        "Words are split into subword units [CIT].",
    )
    _, gap, last = lines(api, {"a.txt": "[CIT]"})
    assert (gap["note"], gap["answer"]) == ("there are no words around the gap to search with", None)
    assert last["empty"] == 1


def test_each_gap_needs_room_as_a_request_does(backend: InProcess) -> None:
    text = "We parse trees [CIT]. " * 3
    _, *gaps, last = lines(served(backend, gateway={"max_requests": 1}), {"a.txt": text})
    refused = [gap for gap in gaps if gap["status"] == 429]
    assert refused
    assert all(gap["retry_after"] >= 1 and gap["problem"]["reason"] == "overloaded" for gap in refused)
    assert last["refused"] == len(refused) == 3 - last["answered"]


def test_the_text_of_a_draft_comes_back(backend: InProcess) -> None:
    api = served(backend, limits={"text_chars": 500})
    told = api.post("/v1/draft/text", json={"files": sent({"a.md": "# BLEU\n\nWords [@?] and [@v]."})})
    assert told.json() == {
        "file": "a.md",
        "form": "markdown",
        "gaps": 1,
        "text": "# BLEU\n\nWords [@?] and [@v].",
        "cited": [{"key": "v", "title": "", "id": None}],
        "usually_cited_together": [],
        "suggestions": [],
        "suggestion_quality": None,
        "warnings": [],
    }
    pdf = pdf_file([[(10, "Words are split into sub-"), (10, "word units [CIT].")]])
    assert (
        "subword units [CIT]."
        in api.post("/v1/draft/text", json={"files": sent({"a.pdf": pdf})}).json()["text"]
    )
    project = api.post("/v1/draft/text", json={"files": sent(FILES), "main": "main.tex"}).json()
    assert project["text"] == f"{MAIN}\n\n%% parts/scores.tex\n{PART}"
    assert [(one["key"], one["id"]) for one in project["cited"]] == [
        ("vaswani", "vaswani2017attention"),
        ("gone", None),
    ]
    listed = [
        [(10, "Words [CIT]."), (10, "References"), (10, "A. Vaswani. 2017. Attention is all you need.")]
    ]
    told = api.post("/v1/draft/text", json={"files": sent({"a.pdf": pdf_file(listed)})}).json()
    [cited] = told["cited"]
    assert (cited["key"], cited["id"]) == ("vaswani2017attention", "vaswani2017attention")
    assert told["text"] == "Words [CIT]."
    body = {"files": sent({"a.md": "Words [@v]."}), "bib": "@misc{v, title={Attention Is All You Need}}"}
    told = api.post("/v1/draft/text", json=body | {"together": 3}).json()
    assert told["cited"] == [{"key": "v", "title": "Attention Is All You Need", "id": "vaswani2017attention"}]
    together = told["usually_cited_together"]
    assert len(together) == 3
    counts = [paper["papers"] for paper in together]
    assert counts == sorted(counts, reverse=True)
    assert "vaswani2017attention" not in {paper["id"] for paper in together}
    assert api.post("/v1/draft/text", json=body).json()["usually_cited_together"] == []
    # A draft without gaps has a text too.
    assert api.post("/v1/draft/text", json={"files": sent({"a.txt": "We parse."})}).json()["gaps"] == 0


@pytest.mark.parametrize(
    ("body", "says"),
    [
        ({"files": sent({"a.odt": b"PK"})}, "files: a.odt: is of no known kind"),
        ({"files": sent({"a.docx": b"no archive"})}, "files: a.docx: is no .docx"),
        (
            {"files": sent({"a.txt": "We parse. " * 40})},
            "the draft has 400 characters, at most 300 are allowed",
        ),
        ({"files": sent({"a.txt": "We."}), "top_k": 3}, "top_k"),
        ({"files": []}, "files"),
    ],
)
def test_a_draft_whose_text_cannot_be_given_is_refused(
    backend: InProcess, body: dict[str, Any], says: str
) -> None:
    answer = served(backend).post("/v1/draft/text", json=body)
    assert answer.status_code == 422
    assert says in answer.json()["error"]


NOT_READ = {"files": [{"name": "a.txt", "text": "We [CIT]."}]}


@pytest.mark.parametrize(
    ("body", "status", "error"),
    [
        ({}, 422, "files: is required"),
        ({"files": []}, 422, "files: "),
        ({"files": [{"name": "a.txt"}]}, 422, "files.0: give either text or base64"),
        (
            {"files": [{"name": "a.txt", "text": "x", "base64": "eA=="}]},
            422,
            "files.0: give either text or base64",
        ),
        ({"files": [{"name": "", "text": "x"}]}, 422, "files.0.name: "),
        ({"files": [{"name": "a.pdf", "base64": "no base64!"}]}, 422, "files.0.base64: is no base64"),
        ({"files": [{"name": "a.txt", "text": "x"}] * 2}, 422, "files.1.name: 'a.txt' stands twice"),
        (NOT_READ | {"together": 101}, 422, "together: "),
        (NOT_READ | {"top_k": 31}, 422, "top_k: at most 30 is allowed, got 31"),
        (
            NOT_READ | {"year": 2000, "year_from": 2001},
            422,
            "year_from: 2001 is later than the manuscript's year",
        ),
        (NOT_READ | {"authors": ["x"] * 4}, 422, "authors: at most 3 values"),
        (NOT_READ | {"venue": "x" * 101}, 422, "venue: at most 100 characters"),
        (NOT_READ | {"release": "beside"}, 422, "release: no release 'beside' is loaded"),
        (NOT_READ | {"file": 1}, 422, "file: there is no such field (did you mean 'files'?)"),
        (NOT_READ | {"bib": "x" * 20_000}, 413, "The request's body is larger than the 20,000 bytes"),
    ],
)
def test_what_is_refused_before_a_draft_is_read(
    backend: InProcess, body: Any, status: int, error: str
) -> None:
    answer = served(backend).post("/v1/draft", json=body)
    assert answer.status_code == status
    assert answer.json()["error"].startswith(error)


@pytest.mark.parametrize(
    ("files", "options", "error"),
    [
        ({"a.odt": "x"}, {}, "files: a.odt: is of no known kind: '.odt' (known: "),
        (
            {"a.tex": MAIN, "b.tex": MAIN},
            {},
            "files: 2 files hold \\documentclass, where one has to (name the main file by --main, or in a request by "
            "main; found: a.tex, b.tex).",
        ),
        (
            {"a.txt": "We parse."},
            {},
            "files: the draft has neither gaps nor citations; mark a gap with [CIT].",
        ),
        ({"a.txt": "We [CIT]. " * 4}, {}, "files: the draft has 4 gaps, at most 3 are allowed."),
        ({"a.zip": b"PK"}, {}, "files: a.zip: is no ZIP archive that can be read (pack it anew)."),
        ({"a.txt": "We [CIT]."}, {"main": "b.txt"}, "files: there is no file 'b.txt' (name the main file"),
    ],
)
def test_what_is_no_draft(backend: InProcess, files: Any, options: Any, error: str) -> None:
    answer = served(backend).post("/v1/draft", json={"files": sent(files), **options})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(error)
    assert answer.json()["field"] == "files"


def test_a_draft_that_was_refused_makes_room_for_the_next(backend: InProcess) -> None:
    api = served(backend, limits={"drafts_waiting": 1, "draft_s": 0.000_01})
    for _ in range(2):
        answer = api.post("/v1/draft", json={"files": sent({"a.tex": MAIN})})
        assert answer.status_code == 422
        assert answer.json()["error"].startswith("files: a.tex: reading the draft takes more than 1e-05 s")


def test_the_draft_s_own_year_counts_where_the_request_has_none(backend: InProcess) -> None:
    text = MAIN.replace("\\begin{document}", "\\date{2017}\\begin{document}")
    answer = served(backend).post("/v1/draft", json={"files": sent({"a.tex": text}), "year_from": 2020})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith("year_from: 2020 is later than the manuscript's year, 2017")


def test_liked_and_disliked_papers_steer_each_gap(backend: InProcess) -> None:
    api = served(backend)

    def found(**seeds: Any) -> dict[int, list[str]]:
        _, *gaps, _ = lines(api, FILES, top_k=10, depth=50, **seeds)
        return {gap["gap"]: [paper["id"] for paper in gap["answer"]["papers"]] for gap in gaps}

    plain = found()
    likes, dislikes = ["post2018call"], [plain[1][0], plain[2][1]]
    steered = found(like=likes, dislike=dislikes)
    for gap, ids in steered.items():
        assert ids != plain[gap]
        assert not {*likes, *dislikes} & set(ids)


@pytest.mark.parametrize(
    ("seeds", "words"),
    [
        ({"like": ["gone"]}, "like: the corpus has no paper with the id 'gone'"),
        ({"dislike": ["gone"]}, "dislike: the corpus has no paper with the id 'gone'"),
        ({"like": ["post2018call"], "dislike": ["post2018call"]}, "dislike: 'post2018call' is liked, too"),
        ({"like": ["x"] * 51}, "like: at most 50 papers are allowed, got 51"),
    ],
)
def test_wrong_seeds_refuse_the_draft_as_a_whole(
    backend: InProcess, seeds: dict[str, Any], words: str
) -> None:
    answer = served(backend).post("/v1/draft", json={"files": sent(FILES), **seeds})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(words)


NEEDY = "We split rare words into subword units in all of our systems.\n"


def test_sentences_that_need_a_citation_are_answered_as_gaps(backend: InProcess, tmp_path: Path) -> None:
    backend.model = sure_model(tmp_path / "model")
    api = served(backend)
    files = {**FILES, "parts/scores.tex": PART + NEEDY}
    first, *rest, last = lines(api, files, suggest=1, top_k=3)
    assert (first["gaps"], first["suggestions"]) == (2, 1)
    assert first["suggestion_quality"] == {"precision": 0.47, "recall": 0.53}
    [line] = [one for one in rest if one["kind"] == "suggestion"]
    told = SuggestionLine.model_validate(line)
    assert (told.suggestion, told.file, told.line, told.sentence) == (1, "parts/scores.tex", 2, NEEDY.strip())
    assert told.probability == pytest.approx(0.731, abs=1e-3)
    assert told.answer is not None
    assert "Subword" in told.answer.papers[0].title
    assert told.cite[0] == "sennrich2016neural"
    assert told.answer.gap is None
    assert (last["answered"], last["empty"], last["refused"]) == (3, 0, 0)
    # A draft without gaps and citations has suggestions, too.
    head, *rest, _ = lines(api, {"a.txt": NEEDY}, suggest=3)
    assert (head["gaps"], head["suggestions"], len(rest)) == (0, 1, 1)
    # Nobody asked for any.
    unasked = lines(api, files)[0]
    assert (unasked["suggestions"], unasked["suggestion_quality"]) == (0, None)


def test_the_text_of_a_draft_comes_with_sentences_that_need_a_citation(
    backend: InProcess, tmp_path: Path
) -> None:
    backend.model = sure_model(tmp_path / "model")
    needy = NEEDY.strip().replace("We", "We}").replace("rare", '𝒳 na\\"ive')
    body = {
        "files": sent({"a.tex": "\\section{Words}\nTrees 𝒯 \\cite{v}.\n\\emph{" + needy}),
        "suggest": 3,
    }
    told = served(backend).post("/v1/draft/text", json=body).json()
    [one] = told["suggestions"]
    assert told["text"][one["start"] : one["end"]] == needy
    assert told["suggestion_quality"] == {"precision": 0.47, "recall": 0.53}
    assert (one["file"], one["line"]) == ("a.tex", 3)
    assert one["sentence"] == NEEDY.replace("rare", "𝒳 naïve").strip()
    assert one["probability"] == pytest.approx(0.731, abs=1e-3)
    assert told["gaps"] == 0
    assert served(backend).post("/v1/draft/text", json=body | {"suggest": 0}).json() == told | {
        "suggestions": [],
        "suggestion_quality": None,
    }


@pytest.mark.parametrize("path", ["/v1/draft", "/v1/draft/text"])
def test_what_is_refused_of_suggestions(backend: InProcess, tmp_path: Path, path: str) -> None:
    def refused(suggest: int) -> str:
        answer = served(backend).post(path, json={"files": sent({"a.txt": NEEDY}), "suggest": suggest})
        assert answer.status_code == 422
        return str(answer.json()["error"]).rstrip(".")

    none = (
        "suggest: the served model does not know which sentences need a citation: it has no citing-sentences"
    )
    assert refused(1) == none
    backend.model = tmp_path
    assert refused(1) == none
    if path == "/v1/draft":  # which has papers for each
        assert refused(4) == "suggest: at most 3 is allowed, got 4"
    sure_model(tmp_path)
    (tmp_path / "citing-sentences" / "weights.safetensors").write_bytes(b"damaged")
    assert refused(1) == "files: the model's citing-sentences cannot be read"
