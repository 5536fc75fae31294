from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa

from cocite.corpus.division.order_range import RANGES, OrderRange
from cocite.corpus.division.runs import INDEX, PairRuns, RunFile, TextRuns, keys_of
from cocite.corpus.records import SENTENCES
from cocite.part_files import LocalFiles


def test_a_range_holds_the_rows_of_all_parts_in_order(tmp_path: Path) -> None:
    index = b""
    for number, rows in enumerate(([4, 5, 5], [5, 4, 9])):
        folder = tmp_path / "divided" / "resolved" / f"{number:05d}"
        folder.mkdir(parents=True)
        file = RunFile(folder, number)
        pairs = keys_of(np.array(rows, np.int32), np.array([number, 7, 7], np.int32))
        for name in ("cites", "cited_by", "cocitations"):
            runs = PairRuns(file, name, counted=name == "cocitations")
            runs.add(pairs)
            runs.flush()
        texts = [{"position": -row, "section": "", "text": f"{number}/{row}"} for row in rows]
        ordered = TextRuns(file, "sentences", SENTENCES, ties="position")
        ordered.add(np.array(rows, np.int32), pa.RecordBatch.from_pylist(texts, schema=SENTENCES))
        ordered.flush()
        file.close()
        index += (folder / INDEX).read_bytes()
    step, files = OrderRange("divided", bodies=True), LocalFiles(tmp_path)
    plan = tmp_path / step.shared
    plan.mkdir()
    (plan / RANGES).write_text(
        json.dumps({"limits": [0, 4, 6], "contexts": [0, 0, 0], "sentences": [0, 0, 5]})
    )
    (plan / INDEX).write_bytes(index)
    assert step.open(plan)(files, 1) == {}
    made = tmp_path / "divided" / "ordered" / "00001"
    assert np.load(made / "cites.indices.npy").tolist() == [0, 7, 1, 7]
    assert np.load(made / "cites.degrees.npy").tolist() == [2, 2]
    assert np.load(made / "cocitations.counts.npy").tolist() == [1, 1, 1, 2]
    texts_made = pa.ipc.open_file(made / "sentences.arrow").read_all()["text"].to_pylist()
    assert texts_made == ["0/4", "1/4", "0/5", "0/5", "1/5"]
    OrderRange("divided", bodies=False).open(plan)(files, 0)
    assert not (made.parent / "00000" / "sentences.arrow").exists()
