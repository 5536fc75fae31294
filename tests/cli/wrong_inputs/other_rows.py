"""Wrong inputs to ``cocite model``, ``plan``, ``embed``, ``train``, ``job``, ``cache``, ``tune``, ``demo`` and
``serve``."""

from __future__ import annotations

from helpers.wrong_inputs import Wrong, wrong

NOWHERE = "http://127.0.0.1:9"
"""An address where nothing answers."""


def _train(what: str, recipe: str, *words: str, code: int = 2) -> Wrong:
    return wrong(what, f"train {recipe} --corpus {{corpus}} --to {{tmp}}/m --no-track", *words, code=code)


def _check(what: str, sweep: str, *words: str, code: int = 2) -> Wrong:
    return wrong(what, f"tune run {sweep} --corpus {{corpus}} --to {{tmp}}/s --no-track", *words, code=code)


def _serve(what: str, options: str, *words: str, code: int = 2) -> Wrong:
    return wrong(what, f"serve --index {{index}} {options}", *words, code=code)


def _embed(what: str, options: str, *words: str, code: int = 2) -> Wrong:
    return wrong(what, f"embed {options}", *words, code=code)


EMBED = [
    _embed("no destination", "{corpus} --model {model}", "Missing option '--to'"),
    _embed("no model", "{corpus} --to {tmp}/v", "Missing option '--model'"),
    _embed("a missing corpus", "{missing} --model {model} --to {tmp}/v", "missing: no such folder"),
    _embed("a model for a corpus", "{model}/nnselect --model {model} --to {tmp}/v", "is a nnselect"),
    _embed("a file cut short", "{cut_corpus} --model {model} --to {tmp}/v", "papers.arrow", code=3),
    _embed("a missing model", "{corpus} --model {missing} --to {tmp}/v", "missing: no such model folder"),
    _embed(
        "a folder without a model",
        "{corpus} --model {home} --to {tmp}/v",
        "home: holds none of nnselect",
        "cocite train nnselect",
    ),
    _embed("an empty model", "{corpus} --model {empty_model} --to {tmp}/v", "nnselect", "manifest.json"),
    _embed(
        "an unknown encoder",
        "{corpus} --model {model} --encoder nnselct --to {tmp}/v",
        "'nnselct'",
        "'nnselect'",
    ),
    _embed(
        "an encoder that is not there",
        "{corpus} --model {model} --encoder hatten --to {tmp}/v",
        "holds no hatten",
    ),
    _embed("an unknown form", "{corpus} --model {model} --to {tmp}/v --dtype float8", "'float8'"),
    _embed("no worker", "{corpus} --model {model} --to {tmp}/v --on ray --workers 0", "'--workers'"),
    _embed(
        "workers without Ray", "{corpus} --model {model} --to {tmp}/v --workers 2", "--workers: goes with"
    ),
    _embed(
        "GPUs without Ray", "{corpus} --model {model} --to {tmp}/v --gpus 1", "--gpus: goes with --on ray"
    ),
    _embed(
        "an address without Ray", "{corpus} --model {model} --to {tmp}/v --address a:1", "--address: goes"
    ),
    _embed(
        "an address of jobs",
        "{corpus} --model {model} --to {tmp}/v --on ray --address ray://nowhere:1",
        "reached by jobs only",
    ),
    _embed("a file is there", "{corpus} --model {model} --to {thesis_txt}", "thesis.txt"),
    _embed("a corpus is there", "{corpus} --model {model} --to {unsplit}", "unsplit"),
    _embed("a model is there", "{corpus} --model {model} --to {model}", "nnselect: is another artifact"),
]

TRAIN = [
    wrong("no index", "model golden {model}", "Missing option '--index'"),
    wrong("a missing index", "model golden {model} --index {missing}", "missing: holds no index"),
    wrong("too few queries", "model golden {model} --index {index} --number 1", "--number"),
    wrong("no name", "keys new --file {tmp}/keys", "Missing argument 'name'"),
    wrong("no file", "keys new web", "Missing option '--file'"),
    wrong("an unknown role", "keys new web --file {tmp}/keys --role owner", "--role"),
    wrong("no request a minute", "keys new web --file {tmp}/keys --per-minute 0", "--per-minute"),
    wrong("no recipe", "train", "Missing argument 'recipe'"),
    _train("an unknown recipe", "nnselct", "'nnselct'", "'nnselect'"),
    _train("a missing file", "{missing}.yaml", "missing.yaml"),
    _train("a folder", "{a_folder}", "a_folder"),
    _train("a corpus", "{corpus}", "corpus"),
    _train("an empty file", "{empty_txt}", "kind"),
    _train("garbage", "{garbage_bin}", "garbage.bin"),
    _train("text that is not UTF-8", "{latin1_txt}", "latin1.txt"),
    _train("JSON lines", "{papers_jsonl}", "papers.jsonl"),
    _train("an unknown kind", "{unknown_kind_yaml}", "'nnselekt'", "'nnselect'"),
    _train("no kind", "{no_kind_yaml}", "kind"),
    _train("a list for a kind", "{kind_list_yaml}", "kind"),
    _train("an unknown key", "{recipe_key_yaml}", "'trainin'", "'training'"),
    *(
        _train(f"{override} out of bounds", f"nnselect {override}", f"{override} on the command line")
        for override in (
            "training.epochs=-3",
            "training.epochs=0",
            "training.patience=-1",
            "training.minutes=-1",
            "training.optimizer.learning_rate=-1",
            "training.optimizer.learning_rate=.nan",
            "objective.word_dropout=2",
            "training.batch=0",
            "model.dimension=0",
        )
    ),
    _train("a word for a number", "{recipe_type_yaml}", "training.epochs", "'soon'"),
    _train("a number for a section", "{recipe_section_yaml}", "training"),
    _train("a tag that would run code", "{tagged_yaml}", "tagged.yaml", "python/object"),
    _train("an anchor in itself", "{anchored_yaml}", "anchored.yaml"),
    _train("aliases for a kind", "{bomb_yaml}", "bomb.yaml"),
    _train("a key twice", "{key_twice_yaml}", "key_twice.yaml:2", "'kind'"),
    _train("a tab", "{tabbed_yaml}", "tabbed.yaml"),
    _train("a list", "{a_list_yaml}", "a_list.yaml"),
    _train("a number", "{a_number_yaml}", "a_number.yaml"),
    _train("a merge of a number", "{merged_yaml}", "merged.yaml"),
    _train("a list for a key", "{odd_key_yaml}", "odd_key.yaml"),
    _train("two documents", "{two_documents_yaml}", "two_documents.yaml"),
    _train("an override without =", "nnselect training.epochs", "'training.epochs'", "key.path=value"),
    _train("an override without a key", "nnselect =3", "'=3'"),
    _train("an override of an unknown key", "nnselect training.epoch=3", "'training.epoch'", "'epochs'"),
    _train("an override into a value", "nnselect training.epochs.most=3", "training.epochs.most"),
    _train("an override with a tag", "nnselect 'training.epochs=!!python/name:os.system'", "training.epochs"),
    _train("an override of broken YAML", "nnselect 'training.epochs=[1'", "training.epochs"),
    _train("an override of brackets nested too deep", "nnselect 'training.epochs={deep}'", "training.epochs"),
    _train("an override of the kind", "nnselect kind=nnrank", "kind"),
    wrong(
        "a missing corpus",
        "train nnselect --corpus {missing} --to {tmp}/m --no-track",
        "missing: no such folder",
    ),
    wrong(
        "an index for a corpus",
        "train nnselect --corpus {index} --to {tmp}/m --no-track",
        "not a cocite artifact",
    ),
    *(
        wrong(
            "a corpus without links",
            f"train {recipe} --corpus {{unsplit}} --to {{tmp}}/m --no-track",
            "holds no link at all",
        )
        for recipe in (
            "nnselect",
            "hatten",
            "masked-lm",
            "mp-bert4cr-small",
            "mp-bert4cr-pretraining-small",
            "cross-encoder-small",
        )
    ),
    _train("no paper in the training period", "nnselect period.train_until=1", "period.train_until=YEAR"),
    _train(
        "no paper in the dev period",
        "nnselect period.train_until=2999",
        "period.train_until=2999",
        "earlier year",
    ),
    wrong(
        "an unknown scheme of the corpus",
        "train nnselect --corpus foo://bar/c --to {tmp}/m --no-track",
        "foo://bar/c",
    ),
    wrong(
        "an unknown scheme of the destination",
        "train nnselect --corpus {corpus} --to foo://bar/m --no-track",
        "foo://bar/m",
    ),
    wrong(
        "a file for the destination",
        "train nnselect --corpus {corpus} --to {thesis_txt} --no-track",
        "thesis.txt",
    ),
    wrong(
        "a corpus for the destination",
        "train nnselect --corpus {corpus} --to {unsplit} --no-track",
        "unsplit",
        "manifest.json",
    ),
    _train("resume and fresh", "nnselect --resume --fresh", "--resume", "--fresh"),
    _train("nothing to resume", "nnselect --resume", "--resume"),
    _train("an unknown place", "nnselect --on moon", "'--on'", "'moon'"),
    _train("Ray without workers", "nnselect --on ray", "workers.count: 0", "at least 1"),
    _train("NNRank without NNSelect", "nnrank", "nnselect"),
    wrong(
        "a name without alias",
        "train nnselect --corpus {corpus} --to {tmp}/m --register name@",
        "'name@'",
        "NAME[@ALIAS]",
    ),
    wrong("an alias without name", "train nnselect --corpus {corpus} --to {tmp}/m --register @a", "'@a'"),
    _train("a registration that is not tracked", "nnselect --register name", "--register"),
]

JOB = [
    wrong("no recipe", "job submit train", "Missing argument 'recipe'"),
    wrong("no corpus", "job submit nnselect --to /m", "--corpus"),
    wrong("no destination", "job submit nnselect --corpus /c", "--to"),
    wrong("a relative corpus", "job submit nnselect --corpus c --to /m", "--corpus", "'c'"),
    wrong("a relative destination", "job submit nnselect --corpus /c --to m", "--to", "'m'"),
    wrong("an unknown recipe", "job submit nnselct --corpus /c --to /m", "'nnselct'"),
    wrong("an unknown sweep", "job submit tune nnselct --corpus /c --to /m", "'nnselct'"),
    wrong("a sweep that registers", "job submit tune nnselect --register a", "No such option", "--register"),
    wrong("an override without =", "job submit nnselect loop --corpus /c --to /m", "'loop'"),
    wrong("a relative source", "job submit import records --to /c", "SOURCE", "'records'"),
    wrong("no destination", "job submit import /records", "Missing option '--to'"),
    wrong("relative vectors", "job submit embed /c --model /m --to v", "--to", "'v'"),
    wrong("a relative index", "job submit index /c --to index", "--to", "'index'"),
    wrong("a parameter out of bounds", "job submit index /c --to /i --shards 0", "--shards"),
    wrong("a folder of queries", "job submit rank --queries {home} --to r", "--to", "'r'"),
    wrong("a missing file", "job submit rank --queries q.jsonl --to /r", "--queries", "'q.jsonl'"),
    wrong("a relative run", "job submit evaluate run r --qrels /q", "RUN", "'r'"),
    wrong("a relative model", "job submit evaluate pipeline --corpus /c --model m", "--model", "'m'"),
    wrong("a relative model", "job submit evaluate tables --corpus /c --model m", "--model", "'m'"),
    wrong("a relative model", "job submit evaluate controls --corpus /c --model m", "--model", "'m'"),
    wrong("a relative model", "job submit evaluate confidence --corpus /c --model m", "--model", "'m'"),
    wrong("an unknown option", "job submit evaluate reranking --depth 3", "No such option", "--depth"),
    wrong("a relative report", "job submit evaluate cocitation --corpus /c --to r", "--to", "'r'"),
    wrong("a variable without a value", "job submit index /c --to /i --env KEY", "--env", "'KEY'"),
    wrong("an amount of nothing", "job submit index /c --to /i --resource a=0", "--resource", "a: '0'"),
    wrong("a name with a space", "job submit index /c --to /i --name 'a b'", "--name", "'a b'"),
    wrong("an accelerator of two words", "job submit index /c --to /i --accelerator 'a b'", "'a b'"),
    wrong("a missing requirements file", "job submit index /c --to /i --pip ./no.txt", "--pip", "'./no.txt'"),
    wrong("an image with packages", "job submit index /c --to /i --pip a --image b", "--pip"),
    wrong(
        "an image with a file",
        "job submit {sweep_yaml} --corpus /c --to /i --image b",
        "sweep.yaml",
    ),
    *(
        row
        for line in ("submit nnselect --corpus /c --to /m", "list", "logs a", "stop a")
        for row in [
            wrong("nobody answers", f"job {line} --address {NOWHERE}", NOWHERE, code=1),
            wrong("an address that is none", f"job {line} --address nonsense", "nonsense"),
            wrong("a port out of range", f"job {line} --address http://127.0.0.1:99999", "99999", code=1),
        ]
    ),
    wrong("no id", "job logs", "Missing argument 'ID'"),
    wrong("no id", "job stop", "Missing argument 'ID'"),
    wrong("an argument", "job list more", "unexpected extra argument"),
]

TUNE = [
    wrong("no sweep", "tune run", "Missing argument 'sweep'"),
    _check("an unknown sweep", "bm52", "'bm52'", "'bm25'"),
    _check("a missing file", "{missing}.yaml", "missing.yaml"),
    _check("garbage", "{garbage_bin}", "garbage.bin"),
    _check("a recipe", "{recipe_key_yaml}", "recipe_key.yaml"),
    _check("an empty space", "{no_space_yaml}", "space"),
    _check("an unknown parameter", "{space_key_yaml}", "'k7'"),
    _check("an unknown form of a space", "{space_form_yaml}", "'unifrm'", "'uniform'"),
    _check("ends in the wrong order", "{space_order_yaml}", "k1"),
    _check("an end that is no number", "{space_nan_yaml}", "k1"),
    _check("a value that the study refuses", "{space_value_yaml}", "space.b"),
    _check("an empty choice", "{empty_choice_yaml}", "k1"),
    _check("an unknown study", "{study_kind_yaml}", "'bm52'"),
    _check("no study", "{no_study_yaml}", "study"),
    _check("no metric", "{no_metric_yaml}", "metric"),
    _check("no trial", "{sweep_yaml} budget.trials=0", "budget.trials"),
    _check("negative minutes", "{sweep_yaml} budget.minutes=-1", "budget.minutes"),
    _check(
        "no query",
        "{sweep_yaml} study.queries=0",
        "study.queries=0 on the command line",
        "greater than or equal to",
    ),
    _check("an override without =", "{sweep_yaml} budget.trials", "'budget.trials'"),
    _check("an empty name", "{sweep_yaml} name=''", "name"),
    wrong(
        "a name that is a path",
        "tune run {sweep_yaml} name=../../x --corpus {corpus} --no-track",
        "name",
        "'../../x'",
    ),
    _check("resume and fresh", "{sweep_yaml} --resume --fresh", "--resume"),
    _check("nothing to resume", "{sweep_yaml} --resume", "resume"),
    _check("a negative limit", "{sweep_yaml} --max-latency-ms -1", "'--max-latency-ms'"),
    _check("a limit that is no number", "{sweep_yaml} --max-latency-ms nan", "--max-latency-ms"),
    wrong(
        "a missing corpus",
        "tune run {sweep_yaml} --corpus {missing} --to {tmp}/s --no-track",
        "missing: no such folder",
    ),
    wrong(
        "a URI of an unknown scheme",
        "tune run {sweep_yaml} --corpus {corpus} --to sea3://a/b --no-track",
        "sea3://a/b",
    ),
    wrong(
        "a folder with other things",
        "tune run {sweep_yaml} --corpus {corpus} --to {no_sweep} --fresh --no-track",
        "no_sweep",
        "'trials'",
    ),
    wrong(
        "a file for the folder",
        "tune run {sweep_yaml} --corpus {corpus} --to {thesis_txt} --no-track",
        "thesis.txt",
    ),
    wrong(
        "a corpus for the folder",
        "tune run {sweep_yaml} --corpus {corpus} --to {unsplit} --no-track",
        "unsplit",
    ),
    wrong("a missing folder", "tune report {missing}", "missing"),
    wrong("a folder without trials", "tune report {home}", "home", "trials"),
    wrong("garbage", "tune report {garbage_bin}", "garbage.bin", code=3),
    wrong("a list for the trials", "tune report {trials_list_json}", "trials_list.json", code=3),
    wrong("a folder for the page", "tune report {trials_empty_json} --to {a_folder}", "a_folder"),
    wrong("a negative limit", "tune report {trials_empty_json} --max-latency-ms -1", "'--max-latency-ms'"),
    wrong("no folder", "tune report", "Missing argument 'sweep'"),
    wrong("an argument", "tune list more", "unexpected extra argument"),
    wrong("an unknown option", "tune list --jsn", "--jsn"),
]

SERVE = [
    wrong("no index", "serve", "Missing option '--index'"),
    wrong("a missing index", "serve --index {missing}", "missing: holds no index"),
    wrong("a corpus for an index", "serve --index {corpus}", "corpus: holds no index"),
    _serve("a missing model", "--model {missing}", "missing"),
    _serve("an empty model", "--model {empty_model}", "nnselect"),
    _serve("an unknown version", "--version 9", "'9'"),
    _serve("a port out of range", "--port 70000", "'--port'"),
    _serve("no port", "--port 0", "'--port'"),
    _serve("an address of another machine", "--host 203.0.113.7", "203.0.113.7"),
    _serve("a host that is no name", "--host 'no such host'", "no such host"),
    _serve("an empty host", "--host ''", "host"),
    _serve("no replica", "--replicas 0", "'--replicas'"),
    _serve("a negative wait", "--watch -1", "'--watch'"),
    _serve("a wait that is no number", "--watch nan", "watch"),
    _serve("an unknown setting", "--set limit.top_k=3", "'limit'", "'limits'"),
    _serve("a setting without =", "--set limits.top_k", "'limits.top_k'"),
    _serve("a setting out of bounds", "--set limits.top_k=0", "limits.top_k"),
    _serve("a word for a number", "--set request_timeout_s=soon", "request_timeout_s"),
    _serve("a model by an odd name", "--model models:/", "models:"),
    _serve(
        "a model that is not registered",
        "--model models:/nobody@champion --set registry.folder={tmp}/ml",
        "mlflow.db",
    ),
]

DEMO = [
    wrong("a missing corpus", "demo --once --corpus {missing} --to {tmp}/d", "missing"),
    wrong("garbage for a corpus", "demo --once --corpus {garbage_bin} --to {tmp}/d", "garbage.bin"),
    wrong("a folder with other things", "demo --once --to {home}", "home", "not empty"),
    wrong("a file for a folder", "demo --once --to {thesis_txt}", "thesis.txt"),
    wrong("a port out of range", "demo --once --port 0", "'--port'"),
    wrong("a sample too small", "demo --once --sample 1", "'--sample'"),
    wrong("an argument", "demo more", "unexpected extra argument"),
    wrong("a corpus without links", "demo --once --corpus {unsplit} --to {tmp}/d", "unsplit", leaves="d"),
]

MODEL = [
    row
    for command in ("list", "verify")
    for row in (
        wrong("no model", f"model {command}", "Missing argument 'MODEL'"),
        wrong("a missing folder", f"model {command} {{missing}}", "missing"),
        wrong("a file", f"model {command} {{papers_jsonl}}", "papers.jsonl"),
        wrong("a corpus", f"model {command} {{corpus}}", "is a corpus, not a model"),
        wrong("a folder without components", f"model {command} {{a_folder}}", "a_folder"),
    )
]
REPOSITORY = [
    wrong("no model", "model export --to {tmp}/r", "Missing argument 'MODEL'"),
    wrong("no destination", "model export {model}", "Missing option '--to'"),
    wrong("a missing model", "model export {missing} --to {tmp}/r", "missing: no such model folder"),
    wrong("a corpus as a model", "model export {corpus} --to {tmp}/r", "is a corpus, which is not published"),
    wrong("an empty model", "model export {empty_model} --to {tmp}/r", "manifest.json"),
    wrong(
        "a model as the destination", "model export {model} --to {model} --replace", "holds no manifest.json"
    ),
    wrong("a license in words", "model export {model} --to {tmp}/r --license 'Apache 2'", "--license"),
    wrong("a name with a space", "model export {model} --to {tmp}/r --name 'a b'", "--name: 'a b'"),
    wrong("a path as a data set", "model export {model} --to {tmp}/r --dataset /a/b", "--dataset: '/a/b'"),
    wrong(
        "a path as the base", "model export {model} --to {tmp}/r --base-model ../b", "--base-model: '../b'"
    ),
    wrong(
        "a missing corpus", "model export {model} --to {tmp}/r --corpus {missing}", "missing: no such folder"
    ),
    wrong("no repository", "model import --to {tmp}/m", "Missing argument 'FOLDER'"),
    wrong("no model to make", "model import {model}", "Missing option '--to'"),
    wrong("a missing repository", "model import {missing} --to {tmp}/m", "missing: no such folder"),
    wrong("a model folder", "model import {model} --to {tmp}/m", "holds no manifest.json, so cocite did not"),
    wrong("a corpus", "model import {corpus} --to {tmp}/m", "is a corpus, not a huggingface-repository"),
]
PLAN = [
    wrong("no number of papers", "plan", "Missing option '--papers'"),
    wrong("no papers", "plan --papers 0", "'--papers'"),
    wrong("a word for a number", "plan --papers many", "'--papers'"),
    wrong("papers that are no number", "plan --papers nan", "'--papers'"),
    wrong("infinitely many papers", "plan --papers inf", "'--papers'"),
    wrong("a negative number of links", "plan --papers 1e6 --links -1", "'--links'"),
    wrong("contexts that are no number", "plan --papers 1e6 --contexts nan", "'--contexts'"),
    wrong("a word for a size", "plan --papers 1e6 --ram much", "--ram", "'much'", "64GiB"),
    wrong("a size of an unknown unit", "plan --papers 1e6 --ram 64XB", "--ram", "'64XB'"),
    wrong("too little memory for any machine", "plan --papers 1e6 --ram 64", "--ram", "1 GiB"),
    wrong("too few shards for the memory", "plan --papers 1e8 --ram 16GiB --shards 1", "--ram", "1 shard"),
    wrong("no cores", "plan --papers 1e6 --cores 0", "'--cores'"),
    wrong("no replicas", "plan --papers 1e6 --replicas 0", "'--replicas'"),
    wrong("no shards", "plan --papers 1e6 --shards 0", "'--shards'"),
    wrong(
        "an encoder without a dimension", "plan --papers 1e6 --encoders sentence", "--encoders", "'sentence'"
    ),
    wrong("an encoder without a name", "plan --papers 1e6 --encoders :64", "--encoders", "':64'"),
    wrong("no component", "plan --papers 1e6 --encoders sentence:0", "--encoders", "'sentence:0'"),
    wrong(
        "an encoder twice",
        "plan --papers 1e6 --encoders sentence:64 --encoders sentence:32",
        "--encoders",
        "'sentence' stands twice",
    ),
    wrong("an argument", "plan --papers 1e6 more", "unexpected extra argument"),
]

RECOMMEND = [
    wrong("neither a draft nor a paper", "recommend --index {index}", "--like ID"),
    wrong("only a dislike", "recommend --index {index} --dislike x", "--like ID"),
    wrong("an unknown paper", "recommend --index {index} --like no-such-id", "--like", "'no-such-id'"),
    wrong(
        "an unknown paper beside a draft",
        "recommend {gap_txt} --index {index} --dislike no-such-id",
        "--dislike",
        "'no-such-id'",
    ),
    wrong(
        "the citations of nothing", "recommend --index {index} --like x --like-cited", "--like-cited", "draft"
    ),
    wrong("a copy of nothing", "recommend --index {index} --like x --write", "--write", "draft"),
    wrong("a patch of nothing", "recommend --index {index} --like x --patch p", "--patch", "draft"),
    wrong("a folder for a patch", "recommend {gap_txt} --index {index} --patch {a_folder}", "a_folder"),
    wrong("a patch of a PDF", "recommend {garbage_pdf} --index {index} --patch p", "garbage.pdf"),
    wrong(
        "a bibliography of nothing", "recommend --index {index} --like x --bib {missing}", "--bib", "draft"
    ),
    wrong(
        "a missing bibliography",
        "recommend {gap_txt} --index {index} --bib {missing}",
        "missing: no such file",
    ),
    wrong(
        "a folder for a bibliography", "recommend {gap_txt} --index {index} --bib {home}", "home: is no file"
    ),
    wrong("no index", "recommend {thesis_txt}", "Missing option '--index'"),
    wrong("a missing draft", "recommend {missing} --index {index}", "missing"),
    wrong("a draft of no known form", "recommend {papers_jsonl} --index {index}", "papers.jsonl"),
    wrong("garbage", "recommend {garbage_bin} --index {index}", "garbage.bin"),
    *(
        wrong(
            f"garbage for a .{kind}",
            f"recommend {{garbage_{kind}}} --index {{index}}",
            f"garbage.{kind}: is no ",
        )
        for kind in ("zip", "pdf", "docx")
    ),
    wrong(
        "a main file of no archive",
        "recommend {thesis_txt} --index {index} --main main.tex",
        "--main: goes with a .zip",
    ),
    wrong(
        "a change of nothing", "recommend {thesis_txt} --index {index} --in-place", "--in-place", "--write"
    ),
    wrong("no papers", "recommend {thesis_txt} --index {index} --top-k 0", "'--top-k'"),
    wrong(
        "suggestions without a model", "recommend {gap_txt} --index {index} --suggest", "--suggest", "train"
    ),
    wrong(
        "suggestions by a model that makes none",
        "recommend {gap_txt} --index {index} --model {model} --suggest",
        "citing-sentences",
    ),
    wrong("a number of nothing", "recommend {gap_txt} --index {index} --suggestions 2", "--suggestions"),
    wrong(
        "no suggestion", "recommend {gap_txt} --index {index} --suggest --suggestions 0", "'--suggestions'"
    ),
    wrong("what is new of nothing", "recommend {gap_txt} --index {index} --new", "--new", "--have"),
    wrong("no library", "recommend {gap_txt} --index {index} --have {missing}", "missing: no such file"),
    wrong("a folder for a library", "recommend {gap_txt} --index {index} --have {a_folder}", "a_folder"),
    wrong(
        "garbage for a list of ids",
        "recommend {gap_txt} --index {index} --have {garbage_bin}",
        "garbage.bin, line 1",
    ),
    wrong("garbage for a library", "recommend {gap_txt} --index {index} --have {garbage_bib}", "garbage.bib"),
    wrong(
        "a library of Zotero that does not run",
        "recommend {gap_txt} --index {index} --have zotero:",
        "Zotero: ",
    ),
    wrong(
        "a bibliography of Zotero that does not run",
        "recommend {gap_txt} --index {index} --bib zotero:",
        "Zotero: ",
    ),
    wrong(
        "markup for a library",
        "recommend {gap_txt} --index {index} --have {page_xml}",
        "page.xml:1",
        "<html>",
    ),
    wrong(
        "keys of nothing",
        "recommend {gap_txt} --index {index} --cite-keys better-bibtex",
        "--cite-keys",
        "--write",
    ),
    wrong(
        "unknown keys",
        "recommend {gap_txt} --index {index} --write --cite-keys mine",
        "--cite-keys, character 1",
        "'mine'",
    ),
    wrong("a style of nothing", "recommend {gap_txt} --index {index} --write --style {page_xml}", "--style"),
    wrong("a missing style", "recommend {gap_txt} --index {index} --style none", "none", "some are acl"),
    wrong(
        "markup for a style", "recommend {gap_txt} --index {index} --style {page_xml}", "page.xml:1", "<html>"
    ),
    wrong("garbage for a style", "recommend {gap_txt} --index {index} --style {garbage_bin}", "garbage.bin"),
    wrong("a folder for a style", "recommend {gap_txt} --index {index} --style {a_folder}", "is not a file"),
    wrong(
        "a list of ids that is not UTF-8", "recommend {gap_txt} --index {index} --have {latin1_txt}", "UTF-8"
    ),
]
MCP = [
    wrong("no index", "mcp", "Missing option '--index'"),
    wrong("a missing index", "mcp --index {missing}", "missing"),
    wrong("a corpus for an index", "mcp --index {corpus}", "corpus"),
    wrong("a missing model", "mcp --index {index} --model {missing}", "missing"),
    wrong("a port out of range", "mcp --index {index} --http 0", "'--http'"),
]
LANGUAGE_SERVER = [
    wrong("no index", "language-server", "Missing option '--index'"),
    wrong("a missing index", "language-server --index {missing}", "missing"),
    wrong("a corpus for an index", "language-server --index {corpus}", "corpus"),
    wrong("a missing model", "language-server --index {index} --model {missing}", "missing"),
    wrong("an unknown option", "language-server --index {index} --stdio", "--stdio"),
]
CACHE = [
    wrong("an argument", "cache list more", "unexpected extra argument"),
    wrong(
        "nothing to remove", "cache remove", "cocite cache remove: name copies, or give --older-than or --all"
    ),
    wrong("all and a name", "cache remove --all s3://bucket/c", "name copies, or give --older-than or --all"),
    wrong("all and an age", "cache remove --all --older-than 3", "name copies, or give"),
    wrong("a negative age", "cache remove --older-than -1", "'--older-than'"),
    wrong(
        "what was not copied", "cache remove s3://bucket/none", "s3://bucket/none: nothing was copied from"
    ),
]
REPRODUCE = [
    wrong("no paper", "reproduce --corpus {corpus}", "Missing argument 'paper'"),
    wrong("an unknown paper", "reproduce citeomatik --corpus {corpus}", "'citeomatik'", "citeomatic"),
    wrong("no corpus", "reproduce citeomatic", "Missing option '--corpus'"),
    wrong("a missing corpus", "reproduce citeomatic --corpus {missing}", "missing"),
    wrong("an unknown size", "reproduce citeomatic --corpus {corpus} --size huge", "'--size'"),
    wrong("a word for a time", "reproduce citeomatic --corpus {corpus} --budget soon", "'soon'"),
    wrong(
        "an unknown table", "reproduce citeomatic --corpus {corpus} --to {tmp}/r --only table99", "'table99'"
    ),
    wrong("a folder with other things", "reproduce citeomatic --corpus {corpus} --to {home}", "home"),
]

SERVERS = [*SERVE, *MCP, *LANGUAGE_SERVER]
ROWS = [
    *MODEL,
    *REPOSITORY,
    *PLAN,
    *EMBED,
    *TRAIN,
    *JOB,
    *TUNE,
    *SERVERS,
    *DEMO,
    *RECOMMEND,
    *REPRODUCE,
    *CACHE,
]
