"""What is answered of drafts of every shape: by ``cocite recommend`` and by ``POST /v1/draft``, which must agree.

:data:`READ` lists drafts as authors have them, with each gap's words, what the draft's keys were found to be, and the
warnings. :data:`REFUSED` lists broken and hostile ones, with the one sentence that refuses them; the command reads
these in a child process of limited time and memory. Drafts in text are under ``shapes/``; the others are made by
``tests/helpers/draft_shapes.py``.
"""

from __future__ import annotations

import base64
import json
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from helpers import draft_shapes as made
from helpers.api_backend import LIMITS, InProcess, client
from helpers.pdf_files import pdf_file
from starlette.testclient import TestClient
from typer.testing import CliRunner

from cocite.cli.recommend import app
from cocite.corpus.starter import starter_corpus
from cocite.pipeline.recommender import Recommender
from cocite.retrieval.index.snapshot import IndexSnapshot

SECONDS = 60
"""CPU time that the command may take to refuse a draft, its start included, on a busy machine."""
MEMORY = 900 << 20
"""Bytes of memory that it may take at its peak; half of them are its imports."""
OPEN = "line 3: a brace, a dollar or an environment stays open here; what follows may be left out"


@dataclass(frozen=True)
class Shape:
    """A draft, and what has to come of it.

    Attributes:
        main: the file that the command is given.
        gaps: place of each gap as ``file:line``, and its words, in order.
        cited: key -> id of the corpus' paper; None: it was not found.
        warnings: of the reading.
    """

    main: str
    files: dict[str, bytes]
    gaps: list[tuple[str, str]]
    cited: dict[str, str | None] = field(default_factory=dict)
    warnings: tuple[str, ...] = ()


def of_folder(name: str) -> dict[str, bytes]:
    """The files of a folder of ``shapes/``."""
    folder = made.SHAPES / name
    return {str(path.relative_to(folder)): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def alone(name: str, data: bytes | None = None) -> dict[str, bytes]:
    """A single file; without data, one of ``shapes/``."""
    return {name: (made.SHAPES / name).read_bytes() if data is None else data}


THESIS_GAPS = [
    ("chapters/introduction.tex:2", "Matrix factorisation decomposes ratings [OTHERCIT][CIT]."),
    ("chapters/related.tex:2", "Neighbours of items are compared with those of users [CIT]."),
    ("chapters/methods.tex:2", "Implicit feedback is ranked in pairs [CIT]."),
    ("chapters/results.tex:2", "Dropout keeps networks from overfitting [CIT]."),
    ("chapters/outlook.tex:2", "Bandits choose articles of news for a reader [CIT]."),
]
THESIS_WARNINGS = (r"\input{chapters/acknowledgements}: no such file; it is left out",)
KOREN = {"koren": "koren2009matrix"}
SVM, SVM_CITED = "Text categorization uses support vectors [CIT].", {"porter1980suffix": "porter1980suffix"}
QUANTISED = (
    "Vectors are quantised [CIT] before the search[CIT], and gradient boosted trees rank candidates [CIT]."
)
PASSAGES = "Passages are retrieved by dense vectors [CIT] with hard negatives [CIT].s=q·p"
SESSIONS = (
    "Sessions are modelled by recurrent networks [CIT], and graphs of users and items are convolved [CIT]."
)
CONTEXT = (
    "Context-aware recommendation ranks papers for a passage [CIT], and [CIT] others translate passages to "
    "references."
)

READ = {
    "LaTeX with macros, natbib, comments, code, a table, a footnote and a broken .bib": Shape(
        "paper.tex",
        of_folder("natbib"),
        [
            ("paper.tex:24", "Rare words are split into subword units [CIT]."),
            (
                "paper.tex:25",
                "Probabilistic ranking with BM25 weights terms by frequency and document length [CIT].",
            ),
            ("paper.tex:26", "Bag-of-words models (see [CIT]) ignore the order of words, e.g. in ."),
            (
                "paper.tex:28",
                "Document vectors that are learned from citations [CIT] help, 50% of the time at $0 cost.",
            ),
            ("paper.tex:29", "Contrastive losses [CIT] need negatives."),
            ("paper.tex:37", "Translations are compared with references by BLEU [CIT]."),
        ],
        {"vaswani": "vaswani2017attention", "devlin19": "devlin2019bert", "peters": None},
        ("anthology",),
    ),
    "LaTeX with biblatex": Shape(
        "main.tex",
        of_folder("biblatex"),
        [
            (
                "main.tex:11",
                "Locality-sensitive hashing finds near neighbours in high dimensions [CIT].",
            ),
            ("main.tex:12", "As [CIT] shows, nearest neighbour patterns classify[OTHERCIT]."),
            ("main.tex:13", QUANTISED),
            ("main.tex:13", QUANTISED),
            ("main.tex:14", QUANTISED),
        ],
        {
            "malkov:2020": "malkov2020efficient",
            "jegou-2011": "jegou2011product",
            "cover67": "cover1967nearest",
        },
    ),
    "a thesis of many files, by every command that inputs one": Shape(
        "thesis.tex", of_folder("thesis"), THESIS_GAPS, KOREN, (*THESIS_WARNINGS, "../shared/refs")
    ),
    "the same from Overleaf, with paths that lead out of the archive": Shape(
        "thesis.zip",
        alone("thesis.zip", made.overleaf()),
        THESIS_GAPS,
        KOREN,
        (*THESIS_WARNINGS, "../shared/refs"),
    ),
    "LaTeX without a preamble": Shape(
        "pasted.tex",
        alone("pasted.tex"),
        [
            ("pasted.tex:2", "Word vectors [OTHERCIT] are learned from co-occurrences [CIT]."),
            ("pasted.tex:2", "Graphs are embedded by random walks [CIT], too."),
            ("pasted.tex:5", "Sentences are embedded by siamese encoders [CIT]"),
            ("pasted.tex:6", "and images by convolutions [CIT]"),
        ],
        {"mikolov2013": None, "pennington2014": None},
    ),
    "LaTeX that prints its references itself": Shape(
        "items.tex",
        of_folder("items"),
        [("items.tex:7", "Recurrence was given up [OTHERCIT], and trees are boosted [CIT].")],
        {"att": "vaswani2017attention", "old": None, "forests": "breiman2001random"},
    ),
    "LaTeX whose .bib is missing beside the .bbl": Shape(
        "paper.tex",
        of_folder("bbl"),
        [("paper.tex:3", "Encoders are pretrained [OTHERCIT] and fine-tuned [CIT].")],
        {"devlin-etal-2019": "devlin2019bert"},
        ("refs",),
    ),
    "LaTeX with braces that stay open": Shape(
        "broken.tex",
        alone("broken.tex"),
        [
            ("broken.tex:4", "Introduction Long short-term memory keeps its state over many steps [CIT]."),
            ("broken.tex:7", "Recurrence is hard to train because gradients vanish [CIT]."),
        ],
        {"hochreiter97 key that is never closed.": None},
        (OPEN,),
    ),
    "LaTeX whose input is missing": Shape(
        "a.tex",
        alone("a.tex", b"Trees grow [CIT].\n\\input{gone}"),
        [("a.tex:1", "Trees grow [CIT].")],
        {},
        (r"\input{gone}: no such file; it is left out",),
    ),
    "Markdown with Pandoc's citations in groups, notes, lists and tables": Shape(
        "draft.md",
        of_folder("markdown"),
        [
            ("draft.md:15", "Pointers copy words of the source [OTHERCIT] [CIT]."),
            ("draft.md:15", "In-line: [OTHERCIT] ranks sentences, and so does [CIT]."),
            (
                "draft.md:17",
                "Extreme summaries are one sentence [CIT]; see the web or mail me@example.org. "
                "[@?] is code, [@?] is escaped.",
            ),
            ("draft.md:20", "Graphs of sentences are ranked like pages of the web [CIT]."),
            ("draft.md:22", "Beam search degenerates [CIT]."),
            ("draft.md:27", "n-grams of translations [CIT]"),
            ("draft.md:29", "A note.^[Inline notes cite transformers [CIT].] Another."),
            ("draft.md:31", "Denoising sequences are pretrained [CIT]."),
        ],
        {"lin04": "lin2004rouge", "erkan04": "erkan2004lexrank", "mihalcea04": "mihalcea2004textrank"},
    ),
    "Quarto, which refers to its own figures as it cites": Shape(
        "notes.qmd",
        of_folder("quarto"),
        [("notes.qmd:10", "Compute is best spent on data and parameters alike [CIT].")],
        {"kaplan": "kaplan2020scaling"},
    ),
    "plain text": Shape(
        "notes.txt",
        alone("notes.txt"),
        [
            ("notes.txt:9", CONTEXT),
            ("notes.txt:9", CONTEXT),
            ("notes.txt:11", "Vectors of documents come from citation graphs [CIT] or [CIT] [12]."),
            ("notes.txt:11", "Vectors of documents come from citation graphs [CIT] or [CIT] [12]."),
            ("notes.txt:13", "Co-citation is a measure of how close two documents are [CIT]."),
        ],
    ),
    "Latin-1 with the ends of lines of Windows": Shape(
        "l.txt", alone("l.txt", made.LETTERS.encode("latin-1")), [("l.txt:3", SVM)], SVM_CITED
    ),
    "UTF-16, as the Windows Notepad writes it": Shape(
        "u.txt", alone("u.txt", made.LETTERS.encode("utf-16")), [("u.txt:3", SVM)], SVM_CITED
    ),
    "the ends of lines of an old Macintosh": Shape(
        "m.txt",
        alone("m.txt", made.LETTERS.replace("\r\n", "\r").encode()),
        [("m.txt:3", SVM)],
        SVM_CITED,
    ),
    "UTF-8 with its mark before a front matter": Shape(
        "w.md",
        alone("w.md", made.WINDOWS.encode("utf-8-sig")),
        [("w.md:5", "Topics are latent variables [CIT]."), ("w.md:7", "Words have neighbours [CIT].")],
    ),
    "Word with a footnote, an equation, a table, tracked changes and references": Shape(
        "w.docx",
        alone("w.docx", made.word()),
        [
            ("w.docx:3", PASSAGES),
            ("w.docx:3", PASSAGES),
            ("w.docx:3", "Queries are expanded [CIT]."),
            ("w.docx:6", "late interaction [CIT]"),
        ],
        {"karpukhin2020dense": "karpukhin2020dense"},
    ),
    "PDF in two columns, with references": Shape(
        "p.pdf",
        alone("p.pdf", made.two_columns()),
        [
            (
                "p.pdf:1",
                "Items are recommended by matrix factorization [CIT], which decomposes the ratings that users gave to "
                "the items.",
            ),
            ("p.pdf:1", SESSIONS),
            ("p.pdf:1", SESSIONS),
        ],
        {"koren2009matrix": "koren2009matrix"},
    ),
}

REFUSED: dict[str, tuple[str, bytes, str]] = {
    "an empty file": ("e.tex", b"", "e.tex: the draft has no text"),
    "an image called .tex": ("i.tex", made.PNG, "i.tex: is no text: it holds null bytes"),
    "UTF-16 that is cut": ("u.txt", "Trees.".encode("utf-16")[:-1], "u.txt: is no text: it begins as UTF-16"),
    "a file that inputs itself": (
        "c.tex",
        b"Trees grow.\n\\input{c}",
        r"c.tex:2: the files input one another in a circle: c.tex -> c.tex",
    ),
    "ten megabytes on one line": (
        "line.txt",
        b"word " * (2 << 20),
        "line.txt: the draft has more than 2 MiB",
    ),
    "macros that double": (
        "d.tex",
        (made.DOUBLING + r"\a x").encode(),
        "d.tex, line 1: a paragraph has more than 100,000 characters",
    ),
    "a truncated archive": (
        "t.zip",
        made.overleaf()[:-300],
        "t.zip: is no ZIP archive that can be read",
    ),
    "an archive bomb": (
        "b.zip",
        made.zipped({f"{i}.tex": bytes(4 << 20) for i in range(5)}),
        "b.zip: unpacks to more than 16 MiB of text",
    ),
    "an archive that understates a size": (
        "s.zip",
        made.understated_zip(),
        "s.zip: holds a damaged file, 'main.tex'",
    ),
    "Word with a password": (
        "p.docx",
        made.encrypted_word(),
        "p.docx: is encrypted, or a .doc of before 2007 (save it as .docx without a password)",
    ),
    "a Word bomb": ("b.docx", made.word_bomb(), "b.docx: unpacks to more than 64 MiB, or 12 MiB of text"),
    "a PDF with a password": (
        "p.pdf",
        made.encrypted_pdf(),
        "p.pdf: is encrypted (save it without a password)",
    ),
    "a scan": ("s.pdf", pdf_file([[], []]), "s.pdf: has no text, as a scan has none"),
    "a PDF bomb": ("b.pdf", made.pdf_bomb(), "b.pdf: page 1 has more than 4 MiB of drawing"),
}


@pytest.fixture(scope="module")
def index(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("shapes") / "index"
    IndexSnapshot.create(starter_corpus(), folder)
    return folder


@pytest.fixture(scope="module")
def api(index: Path) -> TestClient:
    limits = LIMITS.model_copy(update={"draft_s": 120.0, "draft_bytes": 32 << 20, "draft_gaps": 100})
    backend = InProcess(Recommender.load(None, index))
    return client(backend, request_timeout_s=300, limits=limits)


def sent(files: dict[str, bytes]) -> list[dict[str, str]]:
    return [{"name": name, "base64": base64.b64encode(data).decode()} for name, data in files.items()]


def told(warnings: list[str], expected: tuple[str, ...]) -> bool:
    return len(warnings) == len(expected) and all(map(str.__contains__, warnings, expected))


@pytest.mark.parametrize("shape", READ.values(), ids=READ)
def test_the_command_and_the_endpoint_answer(
    shape: Shape, index: Path, api: TestClient, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for name, data in shape.files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(data)
    options = ["--index", str(index), "--top-k", "2", "--together", "0", "--json"]
    done = CliRunner().invoke(app, [str(tmp_path / shape.main), *options])
    assert done.exception is None, done.exception
    values: dict[str, Any] = json.loads(done.stdout)
    assert [(f"{gap['file']}:{gap['line']}", gap["sentence"]) for gap in values["gaps"]] == shape.gaps
    assert {one["key"]: one["paper"] for one in values["cited"]} == shape.cited
    # The command tells of bibliographies that are not there on standard error.
    own = tuple(warning for warning in shape.warnings if " " in warning)
    assert told(values["draft"]["warnings"], own)

    main = "" if len(shape.files) == 1 else shape.main
    answer = api.post("/v1/draft", json={"files": sent(shape.files), "main": main, "top_k": 2, "together": 0})
    assert answer.status_code == 200, answer.text
    head, *lines, _ = [json.loads(line) for line in answer.text.splitlines()]
    gaps = sorted(lines, key=lambda line: line["gap"])
    assert [(f"{gap['file']}:{gap['line']}", gap["sentence"]) for gap in gaps] == shape.gaps
    assert {one["key"]: one["id"] for one in head["cited"]} == shape.cited
    assert told(head["warnings"], shape.warnings)

    cited = {id_ for id_ in shape.cited.values() if id_}
    for of_command, of_endpoint in zip(values["gaps"], gaps, strict=True):
        ids = [paper["id"] for paper in of_command["papers"]]
        assert ids == [paper["id"] for paper in of_endpoint["answer"]["papers"]]
        assert not cited & {*ids}, "what a draft cites is not recommended to it"


LAUNCHER = """
import os, resource, subprocess, sys
seconds, report, *command = sys.argv[1:]
resource.setrlimit(resource.RLIMIT_CPU, (int(seconds), int(seconds)))
resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
child = subprocess.Popen(command)
_, status, used = os.wait4(child.pid, 0)
with open(report, "w") as file:
    print(os.waitstatus_to_exitcode(status), used.ru_maxrss, file=file)
"""
"""Runs a command with limits, and writes its exit status and its peak memory in KiB. A process of its own: a child of
the tests' large one would have that one's peak counted as its own."""


@pytest.mark.parametrize(("name", "data", "sentence"), REFUSED.values(), ids=REFUSED)
def test_the_command_and_the_endpoint_refuse(
    name: str, data: bytes, sentence: str, index: Path, api: TestClient, tmp_path: Path
) -> None:
    (tmp_path / name).write_bytes(data)
    errors = tmp_path / "errors"
    report = tmp_path / "report"
    command = [sys.executable, "-m", "cocite", "recommend", str(tmp_path / name), "--index", str(index)]
    launcher = [sys.executable, "-ISc", LAUNCHER, str(SECONDS), str(report)]
    with errors.open("wb") as stream:
        subprocess.run([*launcher, *command], stdout=stream, stderr=stream, check=True)
    status, peak = map(int, report.read_text().split())
    printed = " ".join(errors.read_text().split())
    assert status == 2, printed
    assert sentence in printed
    assert "Traceback" not in printed
    assert peak << 10 < MEMORY

    answer = api.post("/v1/draft", json={"files": sent({name: data})})
    assert answer.status_code == 422
    assert answer.json()["error"].startswith(f"files: {sentence}")
