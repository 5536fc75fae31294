from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from cocite.corpus.division.order_range import PLAN, OrderRange
from cocite.corpus.division.runs import PairRuns, TextRuns, keys_of
from cocite.corpus.records import SENTENCES


def test_a_range_holds_the_rows_of_all_parts_in_order(tmp_path: Path) -> None:
    for number, rows in enumerate(([4, 5, 5], [5, 4, 9])):
        folder = tmp_path / "resolved" / f"{number:05d}"
        folder.mkdir(parents=True)
        pairs = keys_of(np.array(rows, np.int32), np.array([number, 7, 7], np.int32))
        for name in ("cites", "cited_by", "cocitations"):
            runs = PairRuns(folder, name, counted=name == "cocitations")
            runs.add(pairs)
            runs.close()
        texts = [{"position": -row, "section": "", "text": f"{number}/{row}"} for row in rows]
        ordered = TextRuns(folder, "sentences", SENTENCES, ties="position")
        ordered.add(np.array(rows, np.int32), pa.RecordBatch.from_pylist(texts, schema=SENTENCES))
        ordered.close()
    to = tmp_path / "ordered"
    to.mkdir()
    (to / PLAN).write_text(json.dumps({"limits": [0, 4, 6], "contexts": [0, 0, 0], "sentences": [0, 0, 5]}))
    assert OrderRange(tmp_path / "resolved", 2, to, bodies=True).open()(1) == {}
    made = to / "00001"
    assert np.load(made / "cites.indices.npy").tolist() == [0, 7, 1, 7]
    assert np.load(made / "cites.degrees.npy").tolist() == [2, 2]
    assert np.load(made / "cocitations.counts.npy").tolist() == [1, 1, 1, 2]
    texts_made = pa.ipc.open_file(made / "sentences.arrow").read_all()["text"].to_pylist()
    assert texts_made == ["0/4", "1/4", "0/5", "0/5", "1/5"]
    OrderRange(tmp_path / "resolved", 2, to, bodies=False).open()(0)
    assert not (to / "00000" / "sentences.arrow").exists()
