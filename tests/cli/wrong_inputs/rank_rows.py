"""Wrong inputs to ``cocite rank``."""

from __future__ import annotations

from helpers.wrong_inputs import Wrong, wrong


def _queries(what: str, file: str, *words: str) -> Wrong:
    """A file of queries that must be refused, named with its line."""
    return wrong(what, f"rank --queries {{{file}}} --to {{tmp}}/r --index {{index}}", *words)


def _options(what: str, options: str, *words: str, code: int = 2) -> Wrong:
    """Options that must be refused beside good queries."""
    return wrong(what, f"rank --queries {{queries_jsonl}} --to {{tmp}}/r {options}", *words, code=code)


ROWS = [
    _queries("an unknown key", "unknown_key_jsonl", "line 2", "'titel'", "did you mean 'title'?"),
    _queries("a number for a title", "number_title_jsonl", "line 1: title"),
    _queries("an id twice", "same_id_jsonl", "line 2", "'q'"),
    _queries("no id", "no_id_jsonl", "line 1", "'id'"),
    _queries("no text", "no_text_jsonl", "line 1", "no text"),
    _queries("an unknown paper", "unknown_paper_jsonl", "line 1", "'nobody'"),
    _queries("an id with a space", "spaced_id_jsonl", "line 1", "'a b'"),
    _queries("an id with a control character", "control_id_jsonl", "line 1", "'a\\x85b'"),
    _queries("a year too large", "huge_year_jsonl", "line 1: year"),
    _queries("a negative year", "negative_year_jsonl", "line 1: year"),
    _queries("a word for a year", "word_year_jsonl", "line 1: year"),
    _queries("a text for a list", "authors_text_jsonl", "line 1: authors"),
    _queries("a list for an object", "list_line_jsonl", "line 1", "object"),
    _queries("a huge line", "huge_line_jsonl", "line 1", "longer than"),
    _queries("brackets nested too deep", "deep_line_jsonl", "line 1", "not valid JSON"),
    _queries("no line", "empty_txt", "holds no query"),
    _queries("garbage", "garbage_bin", "line 1", "UTF-8"),
    _queries("a missing file", "missing", "missing: no such file"),
    _queries("a folder", "a_folder", "a_folder"),
    _queries("a link to itself", "loop", "loop"),
    _queries("text that is not UTF-8", "latin1_txt", "line 1", "UTF-8"),
    wrong("no queries", "rank --to {tmp}/r --index {index}", "Missing option '--queries'"),
    wrong("no destination", "rank --queries {queries_jsonl} --index {index}", "Missing option '--to'"),
    wrong(
        "a folder for a run",
        "rank --queries {queries_jsonl} --to {a_folder} --index {index}",
        "a_folder",
        "is a folder",
    ),
    wrong(
        "a file for a folder",
        "rank --queries {queries_jsonl} --to {thesis_txt}/r --index {index}",
        "thesis.txt",
    ),
    wrong(
        "the queries for the run",
        "rank --queries {queries_jsonl} --to {queries_jsonl} --index {index}",
        "queries.jsonl",
        "read by this command",
    ),
    wrong(
        "a run inside an artifact",
        "rank --queries {queries_jsonl} --to {corpus}/r --index {index}",
        "corpus",
        "manifest.json",
    ),
    wrong(
        "a name too long",
        "rank --queries {queries_jsonl} --to {tmp}/{long} --index {index}",
        "too long",
        code=1,
    ),
    _options("neither index nor corpus", "", "--index"),
    _options("index and corpus", "--index {index} --corpus {corpus}", "--index"),
    _options("a missing index", "--index {missing}", "missing: holds no index"),
    _options("a corpus for an index", "--index {corpus}", "corpus: holds no index"),
    _options("a damaged index", "--index {bad_index}", "alive.npy", code=3),
    _options("a version that is not there", "--index {lost_version}", "000009", code=3),
    _options("a missing corpus", "--corpus {missing} --pipeline bm25", "missing: no such folder"),
    _options("an index for a corpus", "--corpus {index} --pipeline bm25", "index", "not a cocite artifact"),
    _options("a corpus for what needs an index", "--corpus {corpus} --pipeline first", "'first'", "--index"),
    _options("a missing model", "--index {index} --model {missing}", "missing"),
    _options("a file for a model", "--index {index} --model {thesis_txt}", "thesis.txt"),
    _options("an empty model", "--index {index} --model {empty_model}", "nnselect"),
    _options("an unknown pipeline", "--index {index} --pipeline bm52", "'bm52'", "'bm25'"),
    _options("an empty pipeline", "--index {index} --pipeline ''", "''"),
    _options("a pipeline that needs a model", "--index {index} --pipeline nnselect", "'nnselect'", "model"),
    _options(
        "a pipeline that the model lacks", "--index {vectors} --model {model} --pipeline hatten", "'hatten'"
    ),
    _options(
        "a model that the index knows not",
        "--index {index} --model {model} --pipeline nnselect",
        "index",
        "nnselect",
    ),
    _options("an unknown form", "--index {index} --pipeline bm25 --form titel", "'titel'", "'title'"),
    _options("a form of what has none", "--index {index} --pipeline first --form title", "--form"),
    _options("no paper asked for", "--index {index} --k 0", "'--k'"),
    _options("too many papers", "--index {index} --k 1000000", "'--k'"),
    _options("an empty batch", "--index {index} --batch 0", "'--batch'"),
    _options("a negative number to rerank", "--index {index} --rerank -1", "'--rerank'"),
    _options("a tag with a space", "--index {index} --tag 'my run'", "'my run'"),
    _options("an empty tag", "--index {index} --tag ''", "run tag"),
    _options("an argument", "--index {index} more", "unexpected extra argument"),
]
