"""Wrong inputs to ``cocite evaluate``."""

from __future__ import annotations

from helpers.wrong_inputs import Wrong, wrong


def _run(what: str, run: str, *words: str, code: int = 2) -> Wrong:
    return wrong(what, f"evaluate run {{{run}}} --qrels {{qrels_trec}}", *words, code=code)


def _qrels(what: str, qrels: str, *words: str) -> Wrong:
    return wrong(what, f"evaluate run {{run_trec}} --qrels {{{qrels}}}", *words)


def _on_corpus(command: str, needs: str = "") -> list[Wrong]:
    """What every command that measures on a corpus refuses."""
    line = f"evaluate {command} --no-track {needs}"
    return [
        wrong("no corpus", line, "Missing option '--corpus'"),
        wrong("a missing corpus", f"{line} --corpus {{missing}}", "missing: no such folder"),
        wrong("an index for a corpus", f"{line} --corpus {{index}}", "not a cocite artifact"),
        wrong("a file cut short", f"{line} --corpus {{cut_corpus}}", "papers.arrow", code=3),
        wrong("a corpus without splits", f"{line} --corpus {{unsplit}}", "unsplit", "test split"),
        wrong("an unknown split", f"{line} --corpus {{corpus}} --split tset", "'tset'", "'test'"),
        wrong("an empty sample", f"{line} --corpus {{corpus}} --sample 0", "'--sample'"),
        wrong("a negative seed", f"{line} --corpus {{corpus}} --sample 5 --seed -1", "--seed"),
        wrong(
            "a folder for Markdown",
            f"{line} --corpus {{corpus}} --sample 5 --markdown {{a_folder}}",
            "a_folder",
        ),
    ]


ROWS = [
    # -- run
    wrong("no run", "evaluate run --qrels {qrels_trec}", "Missing argument 'run'"),
    wrong("no qrels", "evaluate run {run_trec}", "Missing option '--qrels'"),
    _run("a missing run", "missing", "missing: no such file"),
    _run("a folder", "a_folder", "a_folder"),
    _run("an empty file", "empty_txt", "empty.txt: holds no line"),
    _run("five columns", "five_columns_trec", "line 1", "5 fields"),
    _run("a word for a score", "words_for_scores_trec", "line 1", "'high'"),
    _run("a score that is no number", "nan_trec", "line 1", "'nan'"),
    _run("an infinite score", "infinite_trec", "line 1", "'1e999'"),
    _run("a document twice", "twice_trec", "twice.trec", "twice"),
    _run("lines of a query apart", "torn_trec", "torn.trec, line", "stand together"),
    _run("a line too long", "long_line_trec", "line 1", "4096"),
    _run("text that is not UTF-8", "latin1_trec", "latin1.trec"),
    _run("garbage", "garbage_bin", "garbage.bin"),
    _run("a name in .gz", "not_gzip_trec_gz", "not_gzip.trec.gz"),
    _run("a compressed file cut short", "cut_trec_gz", "cut.trec.gz"),
    _run("qrels for a run", "qrels_trec", "line 1", "4 fields"),
    _run("a link to itself", "loop", "loop"),
    _qrels("a missing file", "missing", "missing: no such file"),
    _qrels("a run for qrels", "run_trec", "line 1", "6 fields"),
    _qrels("an empty file", "empty_txt", "holds no judgement"),
    _qrels("half a grade", "half_grades_qrels", "line 1", "'0.5'"),
    _qrels("three columns", "three_columns_qrels", "line 1", "3 fields"),
    _qrels("a document judged twice", "judged_twice_qrels", "line 2", "'d'"),
    _qrels("judgements of another corpus", "other_qrels", "no query"),
    wrong(
        "a missing other run",
        "evaluate run {run_trec} --qrels {qrels_trec} --against {missing}",
        "missing: no such file",
    ),
    wrong(
        "the run against itself",
        "evaluate run {run_trec} --qrels {qrels_trec} --against {run_trec}",
        "--against",
    ),
    wrong("an unknown metric", "evaluate run {run_trec} --qrels {qrels_trec} --metrics R@10,foo", "'foo'"),
    wrong("a metric at zero", "evaluate run {run_trec} --qrels {qrels_trec} --metrics R@0", "R@0"),
    wrong("an empty metric", "evaluate run {run_trec} --qrels {qrels_trec} --metrics R@10,,MRR", "''"),
    wrong(
        "a metric beyond measure",
        "evaluate run {run_trec} --qrels {qrels_trec} --metrics R@99999999999999999999",
        "R@",
    ),
    wrong(
        "a missing corpus",
        "evaluate run {run_trec} --qrels {qrels_trec} --corpus {missing}",
        "missing: no such folder",
    ),
    wrong(
        "an unknown task",
        "evaluate run {run_trec} --qrels {qrels_trec} --corpus {corpus} --task lcal",
        "'lcal'",
        "'local'",
    ),
    wrong(
        "a folder for Markdown",
        "evaluate run {run_trec} --qrels {qrels_trec} --markdown {a_folder}",
        "a_folder",
    ),
    wrong(
        "the run for Markdown",
        "evaluate run {run_trec} --qrels {qrels_trec} --markdown {run_trec}",
        "run.trec",
    ),
    wrong(
        "Markdown inside an artifact",
        "evaluate run {run_trec} --qrels {qrels_trec} --markdown {corpus}/t.md",
        "manifest.json",
    ),
    # -- confidence
    *_on_corpus("confidence", "--model {model}"),
    wrong("a missing model", "evaluate confidence --no-track --corpus {corpus} --model {missing}", "missing"),
    wrong(
        "a model without calibration",
        "evaluate confidence --no-track --corpus {corpus} --model {model} --sample 5",
        "holds no calibration",
        "train confidence",
    ),
    wrong(
        "an unknown task for probabilities",
        "evaluate confidence --no-track --corpus {corpus} --model {model} --task globl",
        "'globl'",
    ),
    wrong("no candidates", "evaluate confidence --corpus {corpus} --model {model} --depth 0", "'--depth'"),
    wrong(
        "a negative number", "evaluate confidence --corpus {corpus} --model {model} --rerank -1", "'--rerank'"
    ),
    wrong(
        "a folder for the diagram",
        "evaluate confidence --no-track --corpus {corpus} --model {model} --diagram {a_folder}",
        "a_folder",
    ),
    # -- pipeline
    *_on_corpus("pipeline"),
    wrong(
        "an unknown task",
        "evaluate pipeline --no-track --corpus {corpus} --task globl",
        "'globl'",
        "'global'",
    ),
    wrong("a missing model", "evaluate pipeline --no-track --corpus {corpus} --model {missing}", "missing"),
    wrong(
        "an empty model", "evaluate pipeline --no-track --corpus {corpus} --model {empty_model}", "nnselect"
    ),
    wrong(
        "an unknown system",
        "evaluate pipeline --no-track --corpus {corpus} --stages bm26",
        "'bm26'",
        "'bm25'",
    ),
    wrong("an empty system", "evaluate pipeline --no-track --corpus {corpus} --stages bm25,", "''"),
    wrong(
        "a system twice",
        "evaluate pipeline --no-track --corpus {corpus} --stages bm25,bm25 --sample 5",
        "'bm25'",
        "twice",
    ),
    wrong(
        "a system without its model",
        "evaluate pipeline --no-track --corpus {corpus} --stages full,nnrank",
        "'nnrank'",
    ),
    wrong(
        "an unknown metric", "evaluate pipeline --no-track --corpus {corpus} --metrics recall@10", "recall@10"
    ),
    wrong("no paper asked for", "evaluate pipeline --no-track --corpus {corpus} --k 0", "'--k'"),
    wrong(
        "an index of another corpus",
        "evaluate pipeline --no-track --corpus {unsplit} --index {index} --split train",
        "unsplit",
    ),
    wrong(
        "a missing index",
        "evaluate pipeline --no-track --corpus {corpus} --index {missing}",
        "missing: holds no index",
    ),
    wrong(
        "a file for a folder",
        "evaluate pipeline --no-track --corpus {corpus} --sample 5 --to {thesis_txt}",
        "thesis.txt",
    ),
    wrong(
        "a corpus for the runs' folder",
        "evaluate pipeline --no-track --corpus {corpus} --sample 5 --to {corpus}",
        "manifest.json",
    ),
    wrong(
        "a file for MLflow's folder",
        "evaluate pipeline --corpus {corpus} --sample 5 --tracking {thesis_txt}",
        "thesis.txt",
    ),
    wrong(
        "garbage for MLflow's database",
        "evaluate pipeline --corpus {corpus} --sample 5 --tracking {bad_tracking}",
        "mlflow.db",
        code=1,
    ),
    # -- tables
    *_on_corpus("tables", "--model {model}"),
    wrong("no model", "evaluate tables --no-track --corpus {corpus}", "Missing option '--model'"),
    wrong("a missing model", "evaluate tables --no-track --corpus {corpus} --model {missing}", "missing"),
    wrong(
        "a model without NNRank",
        "evaluate tables --no-track --corpus {corpus} --model {select_only}",
        "nnrank",
    ),
    wrong("an unknown table", "evaluate tables --no-track --corpus {corpus} --model {model} --only 7", "'7'"),
    wrong("no table", "evaluate tables --no-track --corpus {corpus} --model {model} --only ''", "no table"),
    # -- reranking
    *_on_corpus("reranking", "--model {model}"),
    wrong("a missing model", "evaluate reranking --no-track --corpus {corpus} --model {missing}", "missing"),
    wrong(
        "an unknown table",
        "evaluate reranking --no-track --corpus {corpus} --model {model} --only pipline",
        "'pipline'",
        "'pipeline'",
    ),
    wrong(
        "words for depths",
        "evaluate reranking --no-track --corpus {corpus} --model {model} --depths a,b",
        "--depths",
        "10,20",
    ),
    wrong(
        "a negative depth",
        "evaluate reranking --no-track --corpus {corpus} --model {model} --depths 10,-5",
        "-5",
    ),
    wrong(
        "a negative depth of the oracle",
        "evaluate reranking --no-track --corpus {corpus} --model {model} --oracle-depth -1",
        "--oracle-depth",
    ),
    # -- cocitation
    *_on_corpus("cocitation", "--baselines bm25"),
    *_on_corpus("controls", "--model {tmp}/m"),
    wrong(
        "an unknown baseline", "evaluate cocitation --no-track --corpus {corpus} --baselines bm26", "'bm26'"
    ),
    wrong(
        "a missing model",
        "evaluate cocitation --no-track --corpus {corpus} --baselines none --model {missing}",
        "missing",
    ),
    wrong(
        "neither model nor baseline",
        "evaluate cocitation --no-track --corpus {corpus} --baselines none",
        "--model",
    ),
    wrong(
        "nothing to train into",
        "evaluate cocitation --no-track --corpus {corpus} --train",
        "--train",
        "--model",
    ),
    wrong(
        "an unknown recipe to train",
        "evaluate cocitation --no-track --corpus {corpus} --train --model {tmp}/m --recipe mp-bert",
        "'mp-bert'",
    ),
    wrong(
        "an unknown system",
        "evaluate cocitation --no-track --corpus {corpus} --model {model} --systems nnselct",
        "'nnselct'",
    ),
    wrong(
        "two models of a name",
        "evaluate cocitation --no-track --corpus {corpus} --model {model} --model {model} --baselines none --sample 5",
        "model",
    ),
]
