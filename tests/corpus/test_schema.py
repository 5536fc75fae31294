"""One definition of the fields: what the schema, the importer and the documentation say is the same."""

from __future__ import annotations

import dataclasses
import itertools
import json
from pathlib import Path
from typing import Any

import jsonschema
import pytest
from helpers.records import tiny, write_lines
from hypothesis import given, settings
from hypothesis import strategies as st

from cocite.cli import main
from cocite.corpus import starter
from cocite.corpus.fields import NESTED, RECORDS, TYPES
from cocite.corpus.importers import FORMATS, open_source
from cocite.corpus.importers.jsonl import NativeJSONL
from cocite.corpus.importers.native_fields import READERS
from cocite.corpus.records import ContextRecord, PaperRecord
from cocite.corpus.schema import json_schema
from cocite.corpus.share import ShareBuilder
from cocite.corpus.synth import Synthetic

VALIDATOR = jsonschema.Draft202012Validator(json_schema())
OF_ONE_RECORD = {"malformed", "unknown_field", "missing_id", "empty_title", "empty_context", "empty_sentence"}
"""Rules that look at one record alone, and leave out a part of it."""


def as_object(record: Any) -> dict[str, Any]:
    """A record as a line of cocite's JSON lines."""
    value = dataclasses.asdict(record)
    if isinstance(record, ContextRecord):
        value["context"] = value.pop("text")
    return json.loads(json.dumps(value))


def test_the_schema_is_one() -> None:
    jsonschema.Draft202012Validator.check_schema(json_schema())
    assert set(TYPES) == set(READERS) == {f.type for fields in RECORDS.values() for f in fields.values()}
    described = [f.description for fields in (RECORDS | NESTED).values() for f in fields.values()]
    assert all(text and not text.endswith(".") for text in described)


def test_the_command_prints_it(capsys: pytest.CaptureFixture[str]) -> None:
    main(["corpus", "schema"])
    assert json.loads(capsys.readouterr().out) == json_schema()


def test_the_starter_corpus_fits() -> None:
    lines = [json.loads(line) for line in starter.PAPERS.read_text().splitlines()]
    assert len(lines) > 100
    for line in lines:
        VALIDATOR.validate(line)


def test_synthetic_records_fit_and_come_back(tmp_path: Path) -> None:
    records = [*itertools.islice(Synthetic(100, seed=1, sentences=True), 400), *tiny()]
    values = [as_object(record) for record in records]
    for value in values:
        VALIDATOR.validate(value)
    assert list(open_source(write_lines(tmp_path / "x.jsonl", values))) == records


# -- the importer agrees ------------------------------------------------------------------------------------

LEAVES = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(-(10**20), 10**20),
    st.floats(allow_nan=False, allow_infinity=False),
    st.sampled_from(["", " ", "a", "b c", "7", " -12 ", "--5", "1.0", "train", "all", "see [CIT]"]),
)
ITEMS = LEAVES | st.dictionaries(
    st.sampled_from(["name", "id", "cited", "text", "context", "x"]), LEAVES, max_size=3
)
VALUES = LEAVES | st.lists(ITEMS, max_size=3) | st.dictionaries(st.sampled_from(["id", "name"]), LEAVES)


@st.composite
def likely(draw: st.DrawFn, kind: str) -> dict[str, Any]:
    """A record whose fields mostly fit: most mistakes come alone."""
    fields = RECORDS[kind] | NESTED.get(kind, {})
    value = {
        name: draw(FITTING[field.type])
        for name, field in fields.items()
        if field.required or draw(st.booleans())
    }
    for name in draw(st.lists(st.sampled_from([*fields, "references", "text"]), max_size=1)):
        value[name] = draw(VALUES)
    for name in draw(st.lists(st.sampled_from(list(value)), max_size=1)):
        del value[name]
    return value


TEXT = st.sampled_from(["a", "b c", "7", 3, 2.5])
NESTED_CONTEXTS = st.fixed_dictionaries(
    {"cited": TEXT | st.lists(ITEMS, max_size=2)},
    optional={"context": TEXT, "text": TEXT, "group": LEAVES, "id": LEAVES, "citing": TEXT},
)
FITTING: dict[str, st.SearchStrategy[Any]] = {
    "id": TEXT,
    "text": TEXT,
    "reference": TEXT,
    "integer": st.sampled_from([0, 2010, "2010", " 7 ", "", 3.0, None]),
    "split": st.sampled_from(["", "train", "dev", "test", None]),
    "names": st.lists(TEXT | st.builds(lambda name: {"name": name}, TEXT), max_size=2),
    "references": st.lists(TEXT | st.builds(lambda id_: {"id": id_}, TEXT), max_size=2),
    "one or more references": TEXT | st.lists(TEXT, min_size=1, max_size=2),
    "contexts": st.lists(NESTED_CONTEXTS, max_size=2),
    "sentences": st.lists(
        TEXT | st.fixed_dictionaries({"text": TEXT}, optional={"position": LEAVES}), max_size=2
    ),
}
NAMES = sorted({name for fields in RECORDS.values() for name in fields} | {"references"})


@settings(max_examples=400)
@given(
    st.sampled_from(sorted(RECORDS)).flatmap(likely)
    | st.dictionaries(st.sampled_from(NAMES), VALUES, max_size=5)
)
def test_a_record_fits_the_schema_exactly_when_nothing_of_it_is_left_out(
    tmp_path: Path, value: dict[str, Any]
) -> None:
    builder = ShareBuilder()
    source = NativeJSONL(write_lines(tmp_path / "x.jsonl", [value]))
    for record in source:
        builder.add(record, source.position)
    left_out = {hit.rule for hit in builder.take().hits} & set(OF_ONE_RECORD)
    mistakes = [f"{error.json_path}: {error.message}" for error in VALIDATOR.iter_errors(value)]
    assert bool(mistakes) == bool(left_out), (mistakes, left_out)


@pytest.mark.parametrize("kind", RECORDS)
def test_good_and_bad_records_are_made(kind: str) -> None:
    """The property above is only worth something where the generator makes both."""
    seen: list[bool] = []

    @settings(max_examples=60)
    @given(likely(kind))
    def collect(value: dict[str, Any]) -> None:
        seen.append(VALIDATOR.is_valid(value))

    collect()
    assert min(sum(seen), len(seen) - sum(seen)) > 8


# -- the documentation agrees -------------------------------------------------------------------------------


def test_the_documentation_has_every_field(root: Path) -> None:
    text = (root / "docs" / "corpus-format.md").read_text(encoding="utf-8")
    rows = [
        f"| `{name}` | {TYPES[field.type]} | {'yes' if field.required else ''} | {field.description} |"
        for fields in RECORDS.values()
        for name, field in fields.items()
    ]
    assert [row for row in rows if row not in text] == []
    assert all(f"`{name}`" in text for name in FORMATS)


def test_examples_of_the_documentation_fit(root: Path) -> None:
    text = (root / "docs" / "corpus-format.md").read_text(encoding="utf-8")
    examples = [json.loads(line) for line in text.splitlines() if line.startswith("{")]
    assert len(examples) >= 4
    for example in examples:
        VALIDATOR.validate(example)


def test_papers_of_any_generator_are_lines() -> None:
    assert VALIDATOR.is_valid(as_object(PaperRecord("a", "A")))
    assert not VALIDATOR.is_valid(as_object(PaperRecord("a", "")))
