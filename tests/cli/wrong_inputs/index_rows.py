"""Wrong inputs to ``cocite index``."""

from __future__ import annotations

from helpers.wrong_inputs import wrong

ROWS = [
    # -- build
    wrong("no destination", "index build {corpus}", "Missing option '--to'"),
    wrong("no corpus", "index build --to {tmp}/i", "Missing argument 'corpus'"),
    wrong("a missing corpus", "index build {missing} --to {tmp}/i", "missing: no such folder"),
    wrong("a folder that is no corpus", "index build {home} --to {tmp}/i", "home", "not a cocite artifact"),
    wrong("a model for a corpus", "index build {model}/nnselect --to {tmp}/i", "is a nnselect, not a corpus"),
    wrong("a file cut short", "index build {cut_corpus} --to {tmp}/i", "papers.arrow", code=3),
    wrong("a missing model", "index build {corpus} --to {tmp}/i --model {missing}", "missing"),
    wrong("a file for a model", "index build {corpus} --to {tmp}/i --model {thesis_txt}", "thesis.txt"),
    wrong("a folder without a model", "index build {corpus} --to {tmp}/i --model {home}", "home", "nnselect"),
    wrong(
        "an empty model",
        "index build {corpus} --to {tmp}/i --model {empty_model}",
        "nnselect",
        "manifest.json",
    ),
    wrong("a corpus for a model", "index build {corpus} --to {tmp}/i --model {corpus}", "nnselect"),
    wrong("a word for a year", "index build {corpus} --to {tmp}/i --known-until now", "'--known-until'"),
    wrong(
        "an unknown kind of vectors",
        "index build {corpus} --to {tmp}/i --model {model} --vectors flta",
        "'flta'",
        "flat",
    ),
    wrong(
        "an unknown kind without a model",
        "index build {corpus} --to {tmp}/i --vectors flta",
        "'flta'",
        "flat",
    ),
    wrong("an unknown field of BM25", "index build {corpus} --to {tmp}/i --bm25 txt.k1=1", "'txt'", "'text'"),
    wrong(
        "a key of BM25 without value", "index build {corpus} --to {tmp}/i --bm25 text.k1", "--bm25", "text.k1"
    ),
    wrong("b above one", "index build {corpus} --to {tmp}/i --bm25 text.b=2", "text.b"),
    wrong("k1 that is no number", "index build {corpus} --to {tmp}/i --bm25 text.k1=.nan", "text.k1"),
    wrong("infinite k1", "index build {corpus} --to {tmp}/i --bm25 text.k1=.inf", "text.k1"),
    wrong("negative k1", "index build {corpus} --to {tmp}/i --bm25 text.k1=-1", "text.k1"),
    wrong("a word for k1", "index build {corpus} --to {tmp}/i --bm25 text.k1=big", "text.k1", "'big'"),
    wrong("no version kept", "index build {corpus} --to {tmp}/i --keep 0", "'--keep'"),
    wrong("a folder is there", "index build {corpus} --to {home}", "home", "not an index"),
    wrong("a file is there", "index build {corpus} --to {thesis_txt}", "thesis.txt"),
    wrong("a corpus is there", "index build {corpus} --to {unsplit}", "unsplit"),
    wrong("a destination inside the corpus", "index build {corpus} --to {corpus}/i", "manifest.json"),
    wrong(
        "missing vectors",
        "index build {corpus} --to {tmp}/i --vectors-from {missing}",
        "missing: no such folder",
    ),
    wrong(
        "a folder without vectors",
        "index build {corpus} --to {tmp}/i --vectors-from {home}",
        "home: holds no vectors",
    ),
    wrong(
        "a corpus for vectors",
        "index build {corpus} --to {tmp}/i --vectors-from {corpus}",
        "is a corpus, not a paper-vectors",
    ),
    wrong(
        "an address without Ray", "index build {corpus} --to {tmp}/i --address auto", "--address", "--on ray"
    ),
    wrong("workers without Ray", "index build {corpus} --to {tmp}/i --workers 2", "--workers", "--on ray"),
    wrong("cores without Ray", "index build {corpus} --to {tmp}/i --cpus 2", "--cpus", "--on ray"),
    wrong("a word for where", "index build {corpus} --to {tmp}/i --on moon", "'--on'", "'moon'"),
    wrong("no worker", "index build {corpus} --to {tmp}/i --on ray --workers 0", "'--workers'"),
    wrong(
        "workers for one shard",
        "index build {corpus} --to {tmp}/i --on ray",
        "--shards",
        "two shards or more",
    ),
    wrong(
        "workers for more shards than papers",
        "index build {corpus} --to {tmp}/i --on ray --shards 9999",
        "9999 shards",
    ),
    wrong(
        "workers for a missing corpus",
        "index build {missing} --to {tmp}/i --on ray",
        "missing: no such folder",
    ),
    wrong(
        "workers where a folder is",
        "index build {corpus} --to {home} --on ray --shards 2",
        "home",
        "not an index",
    ),
    wrong(
        "workers and a missing model",
        "index build {corpus} --to {tmp}/i --model {missing} --on ray --shards 2",
        "missing",
    ),
    wrong(
        "workers at a job's address",
        "index build {corpus} --to {tmp}/i --on ray --shards 2 --address http://head:8265",
        "jobs only",
    ),
    # -- add
    wrong("no source", "index add {index}", "Missing argument 'source'"),
    wrong("a missing index", "index add {missing} {papers_jsonl}", "missing: holds no index"),
    wrong("a corpus for an index", "index add {corpus} {papers_jsonl}", "corpus: holds no index"),
    wrong("a missing source", "index add {index} {missing}", "missing: no such file"),
    wrong("garbage", "index add {index} {garbage_bin}", "garbage.bin"),
    wrong("an empty file", "index add {index} {empty_txt}", "empty.txt"),
    wrong("an unknown format", "index add {index} {papers_jsonl} --format csb", "'csb'"),
    wrong("vectors, and no model", "index add {vectors} {papers_jsonl}", "--model"),
    wrong("a model, and no vectors", "index add {index} {papers_jsonl} --model {model}", "vectors"),
    wrong("a folder for the rejects", "index add {index} {papers_jsonl} --rejects {a_folder}", "a_folder"),
    wrong(
        "the source for the rejects",
        "index add {index} {papers_jsonl} --rejects {papers_jsonl}",
        "papers.jsonl",
        "read by this command",
    ),
    wrong("a version that is not there", "index add {lost_version} {papers_jsonl}", "000009", code=3),
    wrong("a damaged index", "index add {bad_index} {papers_jsonl}", "alive.npy", code=3),
    # -- remove
    wrong("no id", "index remove {index}", "Missing argument 'ID...'"),
    wrong("an unknown id", "index remove {index} nobody", "'nobody'"),
    wrong("one known id, one unknown", "index remove {index} {id} nobody", "'nobody'"),
    wrong("an empty id", "index remove {index} ''", "''"),
    wrong("a missing index", "index remove {missing} {id}", "missing: holds no index"),
    wrong("no version kept", "index remove {index} {id} --keep 0", "'--keep'"),
    wrong("a version that is not there", "index remove {lost_version} {id}", "000009", code=3),
    # -- reembed
    wrong("no model", "index reembed {index}", "Missing option '--model'"),
    wrong("a missing model", "index reembed {index} --model {missing}", "missing"),
    wrong(
        "a model without an encoder", "index reembed {index} --model {a_folder}", "a_folder: holds none of"
    ),
    wrong("a missing index", "index reembed {missing} --model {model}", "missing: holds no index"),
    wrong("a corpus for an index", "index reembed {corpus} --model {model}", "corpus: holds no index"),
    wrong("no version kept", "index reembed {index} --model {model} --keep 0", "'--keep'"),
    wrong("a version that is not there", "index reembed {lost_version} --model {model}", "000009", code=3),
    # -- verify, list
    *(
        row
        for command in ("verify", "list")
        for row in [
            wrong("no index", f"index {command}", "Missing argument 'INDEX'"),
            wrong("a missing index", f"index {command} {{missing}}", "missing: holds no index"),
            wrong("a file", f"index {command} {{thesis_txt}}", "thesis.txt"),
            wrong("a corpus", f"index {command} {{corpus}}", "corpus: holds no index"),
            wrong("a path for a version", f"index {command} {{odd_version}}", "CURRENT", code=3),
            wrong("a link to itself", f"index {command} {{loop}}", "loop", code=1),
        ]
    ),
    wrong("an unknown version", "index verify {index} --version 7", "'7'"),
    wrong("a path for a version", "index verify {index} --version ../..", "'../..'"),
    wrong("a flipped byte", "index verify {bad_index}", "alive.npy", code=3),
    wrong("a version that is not there", "index verify {lost_version}", "000009", code=3),
]
