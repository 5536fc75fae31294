"""Wrong inputs to ``cocite corpus``."""

from __future__ import annotations

from helpers.wrong_inputs import wrong

ROWS = [
    # -- schema
    wrong("an argument", "corpus schema {corpus}", "unexpected extra argument"),
    # -- import
    wrong("no destination", "corpus import {papers_jsonl}", "Missing option '--to'"),
    wrong("no source", "corpus import --to {tmp}/c", "Missing argument 'source'"),
    wrong(
        "two sources", "corpus import {papers_jsonl} {papers_jsonl} --to {tmp}/c", "unexpected extra argument"
    ),
    wrong("a misspelt option", "corpus import {papers_jsonl} --two {tmp}/c", "--two"),
    wrong("an option without its value", "corpus import {papers_jsonl} --to", "--to"),
    wrong("a missing source", "corpus import {missing} --to {tmp}/c", "missing: no such file"),
    wrong("a link to nowhere", "corpus import {dangling} --to {tmp}/c", "dangling"),
    wrong("a link to itself", "corpus import {loop} --to {tmp}/c", "loop"),
    wrong("an empty file", "corpus import {empty_txt} --to {tmp}/c", "empty.txt"),
    wrong("an empty folder", "corpus import {a_folder} --to {tmp}/c", "a_folder"),
    wrong("binary garbage", "corpus import {garbage_bin} --to {tmp}/c", "garbage.bin"),
    wrong("garbage named jsonl", "corpus import {garbage_jsonl} --to {tmp}/c", "garbage.jsonl"),
    wrong("garbage named gz", "corpus import {garbage_jsonl_gz} --to {tmp}/c", "garbage.jsonl.gz"),
    wrong("text that is not UTF-8", "corpus import {latin1_txt} --to {tmp}/c", "latin1.txt"),
    wrong("records of no known format", "corpus import {no_papers_jsonl} --to {tmp}/c", "no_papers.jsonl"),
    wrong("a store as the source", "corpus import {corpus} --to {tmp}/c", "corpus"),
    wrong("a model as the source", "corpus import {model} --to {tmp}/c", "model"),
    wrong(
        "an address without Ray",
        "corpus import {papers_jsonl} --to {tmp}/c --address auto",
        "--address: goes with --on ray",
    ),
    wrong(
        "workers without Ray",
        "corpus import {papers_jsonl} --to {tmp}/c --workers 2",
        "--workers: goes with --on ray",
    ),
    wrong(
        "workers that are none",
        "corpus import {papers_jsonl} --to {tmp}/c --on ray --workers 0",
        "--workers",
    ),
    wrong(
        "later years, none and all",
        "corpus import {papers_jsonl} --to {tmp}/c --later-years 0 --keep-later",
        "--later-years: cannot be given with --keep-later",
    ),
    wrong(
        "later years below none",
        "corpus import {papers_jsonl} --to {tmp}/c --later-years -1",
        "--later-years",
    ),
    wrong("a place that is none", "corpus import {papers_jsonl} --to {tmp}/c --on cloud", "--on"),
    wrong(
        "an unknown format",
        "corpus import {papers_jsonl} --to {tmp}/c --format jsonll",
        "'jsonll'",
        "did you mean 'jsonl'",
    ),
    wrong(
        "a bad record in a strict import",
        "corpus import {without_title_jsonl} --to {tmp}/c --strict",
        "without_title.jsonl:2",
        leaves="c.rejects.jsonl",
    ),
    wrong(
        "an id twice in a strict import",
        "corpus import {twice_papers_jsonl} --to {tmp}/c --strict",
        "twice_papers.jsonl:2",
        leaves="c.rejects.jsonl",
    ),
    wrong(
        "words for years", "corpus import {papers_jsonl} --to {tmp}/c --split-years a,b", "'a,b'", "2009,2010"
    ),
    wrong("one year", "corpus import {papers_jsonl} --to {tmp}/c --split-years 2009", "'2009'", "2009,2010"),
    wrong("three years", "corpus import {papers_jsonl} --to {tmp}/c --split-years 1,2,3", "'1,2,3'"),
    wrong(
        "years in the wrong order",
        "corpus import {papers_jsonl} --to {tmp}/c --split-years 2010,2009",
        "2009",
        "2010",
    ),
    wrong("a store is there", "corpus import {papers_jsonl} --to {corpus}", "already exists", "--replace"),
    wrong(
        "a folder is there",
        "corpus import {papers_jsonl} --to {home} --replace",
        "home",
        "not a cocite artifact",
    ),
    wrong(
        "a file is there",
        "corpus import {papers_jsonl} --to {thesis_txt} --replace",
        "thesis.txt",
        "not a cocite artifact",
    ),
    wrong("a file for a folder", "corpus import {papers_jsonl} --to {thesis_txt}/c", "thesis.txt"),
    wrong("a link to itself for a folder", "corpus import {papers_jsonl} --to {loop}/c", "loop"),
    wrong(
        "a destination inside an artifact",
        "corpus import {papers_jsonl} --to {corpus}/c",
        "corpus",
        "manifest.json",
    ),
    wrong("a name too long", "corpus import {papers_jsonl} --to {tmp}/{long}", "too long", code=1),
    wrong(
        "the source for the rejects",
        "corpus import {papers_jsonl} --to {tmp}/c --rejects {papers_jsonl}",
        "papers.jsonl",
        "read by this command",
    ),
    wrong(
        "a folder for the rejects",
        "corpus import {papers_jsonl} --to {tmp}/c --rejects {a_folder}",
        "a_folder",
        "folder",
    ),
    wrong("no name", "corpus import {papers_jsonl} --to ''", "already exists"),
    wrong("the working directory", "corpus import {papers_jsonl} --to . --replace", "not a cocite artifact"),
    # -- stats, verify
    *(
        row
        for command in ("stats", "verify")
        for row in [
            wrong("no store", f"corpus {command}", "Missing argument 'DIR'"),
            wrong("a missing store", f"corpus {command} {{missing}}", "missing: no such folder"),
            wrong("a file", f"corpus {command} {{thesis_txt}}", "thesis.txt"),
            wrong(
                "a folder that is no artifact", f"corpus {command} {{home}}", "home", "not a cocite artifact"
            ),
            wrong("an artifact of another kind", f"corpus {command} {{foreign}}", "is a thing, not a corpus"),
            wrong(
                "an index",
                f"corpus {command} {{index}}",
                "index",
                "not a cocite artifact",
                "folder of a corpus",
            ),
            wrong(
                "a damaged manifest",
                f"corpus {command} {{bad_manifest}}",
                "manifest.json",
                "not valid JSON",
                code=3,
            ),
            wrong("a file cut short", f"corpus {command} {{cut_corpus}}", "papers.arrow", code=3),
            wrong("a link to itself", f"corpus {command} {{loop}}", "loop"),
            wrong("an unknown option", f"corpus {command} {{corpus}} --jsn", "--jsn"),
        ]
    ),
    wrong("a flipped byte", "corpus verify {bad_corpus}", "ids.npy", "damaged", code=3),
    # -- show
    wrong("no id", "corpus show {corpus}", "Missing argument 'ID'"),
    wrong("an unknown id", "corpus show {corpus} nobody", "'nobody'"),
    wrong("an empty id", "corpus show {corpus} ''", "''"),
    wrong("an id of control characters", "corpus show {corpus} 'a\x07b'", "'a\\x07b'"),
    wrong("an id that is no Unicode", "corpus show {corpus} 'a\udcffb'", "a\\udcffb"),
    wrong("a missing store", "corpus show {missing} a", "missing: no such folder"),
    wrong("a file", "corpus show {thesis_txt} a", "thesis.txt"),
    # -- synth, starter
    wrong("no destination", "corpus synth", "Missing option '--to'"),
    wrong("too few papers", "corpus synth --to {tmp}/c --papers 3", "'--papers'", "10"),
    wrong("a negative number of papers", "corpus synth --to {tmp}/c --papers -5", "'--papers'"),
    wrong("a word for a number", "corpus synth --to {tmp}/c --papers many", "'--papers'"),
    wrong("a fraction of papers", "corpus synth --to {tmp}/c --papers 10.5", "'--papers'"),
    wrong("a negative rate", "corpus synth --to {tmp}/c --context-rate -1", "'--context-rate'"),
    wrong("a rate that is no number", "corpus synth --to {tmp}/c --context-rate nan", "--context-rate"),
    wrong("a negative seed", "corpus synth --to {tmp}/c --papers 20 --seed -1", "seed"),
    wrong("a store is there", "corpus synth --to {corpus}", "already exists"),
    wrong("a folder is there", "corpus synth --to {home} --replace", "not a cocite artifact"),
    wrong("no destination", "corpus starter", "Missing option '--to'"),
    wrong("a store is there", "corpus starter --to {corpus}", "already exists"),
    wrong("a file for a folder", "corpus starter --to {thesis_txt}/c", "thesis.txt"),
    wrong("an argument too many", "corpus starter more --to {tmp}/c", "unexpected extra argument"),
    # -- split
    wrong("a missing store", "corpus split {missing} --to {tmp}/c --random .1,.1", "missing: no such folder"),
    wrong("no destination", "corpus split {corpus} --random .1,.1", "Missing option '--to'"),
    wrong("two ways to split", "corpus split {corpus} --to {tmp}/c --random .1,.1 --years 1,2", "not both"),
    wrong("no way to split", "corpus split {corpus} --to {tmp}/c", "--years", "--random"),
    wrong("years in the wrong order", "corpus split {corpus} --to {tmp}/c --years 2010,2009", "2009", "2010"),
    wrong("shares above one", "corpus split {corpus} --to {tmp}/c --random .9,.9", "0.9"),
    wrong("a negative share", "corpus split {corpus} --to {tmp}/c --random -0.1,.1", "-0.1"),
    wrong("a share that is no number", "corpus split {corpus} --to {tmp}/c --random nan,.1", "nan"),
    wrong("words for shares", "corpus split {corpus} --to {tmp}/c --random a,b", "'a,b'", "0.1,0.1"),
    wrong("a negative seed", "corpus split {corpus} --to {tmp}/c --random .1,.1 --seed -1", "--seed"),
    wrong(
        "a threshold above one",
        "corpus split {corpus} --to {tmp}/c --random .1,.1 --threshold 2",
        "'--threshold'",
    ),
    wrong(
        "a threshold that is no number",
        "corpus split {corpus} --to {tmp}/c --random .1,.1 --threshold nan",
        "threshold",
    ),
    wrong(
        "a missing other store",
        "corpus split {corpus} --to {tmp}/c --random .1,.1 --without {missing}",
        "missing: no such folder",
    ),
    wrong("a store is there", "corpus split {corpus} --to {unsplit} --random .1,.1", "already exists"),
    wrong(
        "a folder is there",
        "corpus split {corpus} --to {home} --random .1,.1 --replace",
        "not a cocite artifact",
    ),
    wrong(
        "a destination inside the store",
        "corpus split {corpus} --to {corpus}/c --random .1,.1",
        "manifest.json",
    ),
    # -- export
    wrong("no store", "corpus export --to {tmp}/e", "Missing argument 'DIR'"),
    wrong("no destination", "corpus export {corpus}", "Missing option '--to'"),
    wrong("a missing store", "corpus export {missing} --to {tmp}/e", "missing: no such folder"),
    wrong("an index", "corpus export {index} --to {tmp}/e", "index", "not a cocite artifact"),
    wrong("a store without a split", "corpus export {unsplit} --to {tmp}/e", "test split"),
    wrong("an unknown format", "corpus export {corpus} --to {tmp}/e --format bier", "'--format'", "bier"),
    wrong("an unknown task", "corpus export {corpus} --to {tmp}/e --task locale", "'--task'", "locale"),
    wrong("an unknown split", "corpus export {corpus} --to {tmp}/e --split dev,tset", "'tset'", "test"),
    wrong("no split", "corpus export {corpus} --to {tmp}/e --split ''", "''"),
    wrong("an unknown form", "corpus export {corpus} --to {tmp}/e --form key-terms", "'--form'", "key-terms"),
    wrong(
        "a form that queries lack",
        "corpus export {corpus} --to {tmp}/e --task global --form context",
        "--form",
        "no text of the form context",
    ),
    wrong("a sample of none", "corpus export {corpus} --to {tmp}/e --sample 0", "'--sample'"),
    wrong("a negative seed", "corpus export {corpus} --to {tmp}/e --seed -1", "'--seed'"),
    wrong("a folder is there", "corpus export {corpus} --to {home}", "already exists", "--replace"),
    wrong("a folder to replace", "corpus export {corpus} --to {home} --replace", "not a cocite artifact"),
    wrong(
        "a store to replace",
        "corpus export {corpus} --to {unsplit} --replace",
        "is a corpus, not an export, and is not replaced",
    ),
    wrong("a destination in the store", "corpus export {corpus} --to {corpus}/e", "manifest.json"),
    wrong("a file for a folder", "corpus export {corpus} --to {thesis_txt}/e", "thesis.txt"),
    # -- none
    wrong("an unknown command", "corpus improt {papers_jsonl}", "improt"),
]
