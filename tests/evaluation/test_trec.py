from __future__ import annotations

import gzip
import io

import numpy as np
import pytest
from helpers.rankings import PAPERS, name, rankings
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from cocite.corpus.csr import CSR
from cocite.errors import InputError, NotFoundError
from cocite.evaluation import trec
from cocite.evaluation.hits import Hits
from cocite.evaluation.trec import (
    DocumentNumbers,
    RunWriter,
    join_runs,
    read_qrels,
    read_run,
    run_writer,
    strictly_falling,
    write_qrels,
)
from cocite.protocols import NO_ROW, Ranking


def names(rows):
    return [name(row) for row in rows]


ALL = DocumentNumbers(names(range(PAPERS)))


def write_run(path, query_ids, ranking, ids=names, **options):
    """Write one ranking as a run file."""
    with run_writer(path, ids, **options) as writer:
        writer.write(query_ids, ranking)


@given(rankings())
def test_a_run_comes_back_in_the_order_it_was_written(tmp_path, case):
    ranking, _ = case
    ids = [f"q{q}" for q in range(len(ranking))]
    path = tmp_path / "run.trec"
    write_run(path, ids, ranking, names)
    if (ranking.rows == NO_ROW).all():
        assert path.read_text() == ""
        return
    found = {}
    for queries, part in read_run(path, ALL.rows, batch=2):
        assert len(queries) == len(part) <= 2
        for query, rows in zip(queries, part.rows, strict=True):
            found[query] = rows[rows != NO_ROW].tolist()
    for q, rows in enumerate(ranking.rows):
        assert found.get(ids[q], []) == rows[rows != NO_ROW].tolist()


@given(rankings())
def test_a_public_evaluator_reads_the_same_order(tmp_path, case):
    import ir_measures

    ranking, relevant = case
    ids = [f"q{q}" for q in range(len(ranking))]
    write_run(tmp_path / "run", ids, ranking, names)
    write_qrels(tmp_path / "qrels", ids, CSR.build(*_pairs(relevant), len(relevant)), names)
    if not any(relevant) or (ranking.rows == NO_ROW).all():
        return
    run = ir_measures.read_trec_run(str(tmp_path / "run"))
    qrels = ir_measures.read_trec_qrels(str(tmp_path / "qrels"))
    theirs = {v.query_id: v.value for v in ir_measures.iter_calc([ir_measures.RR], qrels, run)}
    hits = Hits.of(ranking, relevant)
    for q, rows in enumerate(relevant):
        if rows:
            assert theirs[f"q{q}"] == pytest.approx(1 / min(hits.ranks[hits.indptr[q]], 1e9), abs=1e-6)


def _pairs(lists):
    return [q for q, rows in enumerate(lists) for _ in rows], [row for rows in lists for row in rows]


FLOATS = hnp.arrays(
    np.float32,
    hnp.array_shapes(min_dims=2, max_dims=2, min_side=1, max_side=8),
    elements=st.floats(width=32, allow_nan=False) | st.sampled_from([0.0, -0.0, 1.0, 1e-40, -1e-40, 3e38]),
)


@given(FLOATS)
def test_ties_are_broken_downwards_and_survive_text(scores):
    ordered = -np.sort(-scores, axis=1)
    falling = strictly_falling(ordered)
    read_back = np.array([[float(f"{x:.9g}") for x in row] for row in falling.tolist()], np.float32)
    np.testing.assert_array_equal(read_back, falling)
    assert (np.diff(falling.astype(np.float64), axis=1) < 0).all()
    assert not ((falling != 0) & (np.abs(falling) < np.finfo(np.float32).tiny)).any()
    np.testing.assert_allclose(falling, np.clip(ordered, -3e38, 3e38), rtol=1e-5, atol=1e-35)


def test_distinct_scores_are_not_touched():
    scores = np.array([[2.5, 1.25, 1e-3, 0, -1e-3, -7]], np.float32)
    np.testing.assert_array_equal(strictly_falling(scores), scores)


def test_not_a_number_is_refused():
    with pytest.raises(ValueError, match="not a number"):
        strictly_falling(np.array([[1, np.nan]], np.float32))


def test_gzip_is_the_same_text_and_the_same_bytes_each_time(tmp_path):
    ranking = Ranking(np.array([[3, 1]], np.int32), np.array([[2, 1]], np.float32))
    for file in ("a.trec", "a.trec.gz", "b.trec.gz"):
        write_run(tmp_path / file, ["q"], ranking, names, tag="t")
    assert (tmp_path / "a.trec").read_text() == "q Q0 P003 1 2 t\nq Q0 P001 2 1 t\n"
    assert gzip.decompress((tmp_path / "a.trec.gz").read_bytes()) == (tmp_path / "a.trec").read_bytes()
    assert (tmp_path / "a.trec.gz").read_bytes() == (tmp_path / "b.trec.gz").read_bytes()
    assert next(iter(read_run(tmp_path / "a.trec.gz", ALL.rows)))[1].rows.tolist() == [[3, 1]]


def test_a_failed_run_leaves_the_old_file(tmp_path):
    path = tmp_path / "run.trec"
    path.write_text("old")
    ranking = Ranking(np.array([[3]], np.int32), np.array([[2]], np.float32))

    def fails():
        with run_writer(path, names) as writer:
            writer.write(["q"], ranking)
            raise RuntimeError("stop")

    with pytest.raises(RuntimeError, match="stop"):
        fails()
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


@pytest.mark.parametrize("bad", ["a b", "", "a\tb", "a\u2028b"])
def test_ids_that_a_trec_file_cannot_hold(tmp_path, bad):
    ranking = Ranking(np.array([[3]], np.int32), np.array([[2]], np.float32))
    with pytest.raises(InputError, match="query id"):
        write_run(tmp_path / "run", [bad], ranking, names)
    with pytest.raises(InputError, match="paper id"):
        write_run(tmp_path / "run", ["q"], ranking, lambda rows: [bad] * len(rows))
    with pytest.raises(InputError, match="paper id"):
        write_qrels(tmp_path / "qrels", ["q"], CSR.build([0], [3], 1), lambda rows: [bad] * len(rows))
    assert not list(tmp_path.iterdir())


def test_scores_decide_the_order_and_the_later_id_a_tie(tmp_path):
    path = tmp_path / "run"
    path.write_text("q Q0 P001 1 0.5 t\nq Q0 P002 2 0.5 t\n\nq Q0 X 3 0.75 t\nr\tQ0\tP004\t1\t1\tt\n")
    [(queries, ranking)] = read_run(path, ALL.rows)
    assert queries == ["q", "r"]
    assert ranking.rows.tolist() == [[NO_ROW, 2, 1], [4, NO_ROW, NO_ROW]]
    assert ranking.scores[0].tolist() == [0.75, 0.5, 0.5]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q Q0 a 1 0.5\n", r"line 1: has 5 fields where 6"),
        ("q Q0 a 1 0.5 t\nq Q0 b 2 high t\n", r"line 2: the score 'high' is not a number"),
        ("q Q0 a 1 nan t\n", r"line 1: the score 'nan' is not finite"),
        (
            "q Q0 a 1 2 t\nr Q0 a 1 2 t\nq Q0 b 1 2 t\n",
            r"line 3: the lines of query 'q' do not stand together",
        ),
        ("q Q0 a 1 2 t\nq Q0 a 2 1 t\n", r"names 'a' twice"),
        ("\n", "holds no line"),
        ("q Q0 a 1 2 " + "t" * 5000, "line 1: longer than"),
    ],
)
def test_bad_runs_are_refused_with_their_line(tmp_path, text, message):
    path = tmp_path / "run"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        list(read_run(path, ALL.rows))


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("q 0 a yes\n", "line 1: the grade 'yes'"),
        ("q 0 a 1\nq 0 a 0\n", "line 2: query 'q' has judged 'a' before"),
        ("q 0 a\n", "line 1: has 3 fields where 4"),
        ("", "holds no judgement"),
    ],
)
def test_bad_qrels_are_refused_with_their_line(tmp_path, text, message):
    path = tmp_path / "qrels"
    path.write_text(text)
    with pytest.raises(InputError, match=message):
        read_qrels(path)


def test_files_that_are_no_text(tmp_path):
    with pytest.raises(NotFoundError, match="no such file"):
        read_qrels(tmp_path / "none")
    with pytest.raises(InputError, match="cannot be read"):
        read_qrels(tmp_path)
    for file in ("noise", "noise.gz"):
        (tmp_path / file).write_bytes(b"\xff\xfe\x00\x01")
        with pytest.raises(InputError, match="not readable as text"):
            list(read_run(tmp_path / file, ALL.rows))


def test_depth_is_limited(tmp_path, monkeypatch):
    monkeypatch.setattr(trec, "DEPTH_LIMIT", 2)
    path = tmp_path / "run"
    path.write_text("".join(f"q Q0 d{i} {i} {9 - i} t\n" for i in range(3)))
    with pytest.raises(InputError, match="more than 2 documents"):
        list(read_run(path, ALL.rows))


def test_qrels_come_back_and_grade_zero_is_not_relevant(tmp_path):
    path = tmp_path / "qrels"
    path.write_text("q 0 P003 1\nq 0 P001 2\nr 0 P001 0\n")
    qrels = read_qrels(path)
    assert qrels.relevant == {"q": ["P003", "P001"], "r": []}
    assert qrels.documents == ["P003", "P001"]
    write_qrels(tmp_path / "again", ["q"], CSR.build([0, 0], [3, 1], 1), names)
    assert read_qrels(tmp_path / "again").relevant == {"q": ["P001", "P003"]}


@pytest.mark.parametrize("name", ["run", "run.gz"])
def test_runs_that_were_written_in_pieces_are_the_run_of_one_writer(tmp_path, name):
    ranking = Ranking(np.array([[3, 1], [2, 0]], np.int32), np.array([[2, 1], [4, 4]], np.float32))
    write_run(tmp_path / name, ["a", "b"], ranking)
    pieces = []
    for i, query in enumerate("ab"):
        text = io.StringIO()
        RunWriter(text, names, "cocite").write([query], Ranking(ranking.rows[[i]], ranking.scores[[i]]))
        pieces.append(text.getvalue().encode())
    (tmp_path / "joined").mkdir()
    join_runs(tmp_path / "joined" / name, iter(pieces))
    assert (tmp_path / "joined" / name).read_bytes() == (tmp_path / name).read_bytes()


def test_a_piece_that_cannot_be_had_leaves_the_old_file(tmp_path):
    (tmp_path / "run").write_text("old")

    def pieces():
        yield b"a Q0 b 1 2 c\n"
        raise OSError("lost")

    with pytest.raises(OSError, match="lost"):
        join_runs(tmp_path / "run", pieces())
    assert (tmp_path / "run").read_text() == "old"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
