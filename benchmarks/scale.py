"""The whole way at scale, beside peers on the same papers: corpora are made, indexed, opened, and asked.

    python -m benchmarks.scale [--papers 100000,1000000] [--shards 1,4] [--keep DIR] [--results FILE] [--figures FILE]

Each step is a process of its own: `cocite corpus synth`, `cocite index build`, then opening the index, and queries
asked alone of one thread for 100 candidates without encoders: gaps with title and abstract (local), titles with
abstracts (global). In the same run tantivy indexes titles and abstracts and gives the 1,000 best papers, and FAISS
makes inverted lists over a vector of 64 components a paper and gives the 1,000 nearest.

Measured are wall and CPU seconds, peak resident memory, of which what the process wrote (anonymous) and pages of mapped
files apart, sampled 50 times a second, files on disk, and queries in total and by step. Each result is appended to
--results as a line of JSON at once, and a later run with the same file leaves out what it holds, so that a run can be
stopped at any time. A step that took too much memory is not tried again; one that failed otherwise is.

With --keep, corpora and indexes stay in a folder; --corpus N=DIR and --index N:S=DIR use present ones, whose making is
then not measured. Without --keep each is deleted once its steps are done. An index larger than the memory is read
from disk while queries are asked; with --turns 3 each is timed when it is asked for the third time.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import sys
import tempfile
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from benchmarks._measured_process import disk_mb, machine, measured

RESULTS = Path(__file__).parent / "results" / "scale.jsonl"
ASKED = ("local", "global")
ORDER = (
    "corpus",
    *(f"{engine} {step}" for engine in ("cocite", "tantivy", "faiss") for step in ("build", "open", *ASKED)),
)
"""Of the steps in a table."""


class Key(NamedTuple):
    """What a line of the results is of; ``shards`` is 0 where there are none."""

    papers: int
    shards: int
    step: str


class Results:
    """The lines of a file of results; of two of the same step the later counts."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self.lines: dict[Key, dict[str, Any]] = {}
        text = path.read_text() if path.is_file() else ""
        # A run that was killed while it wrote leaves a line without its end: that step is done again.
        whole = text[: text.rfind("\n") + 1]
        if whole != text:
            path.write_text(whole)
        for line in whole.splitlines():
            record = json.loads(line)
            self.lines[Key(record["papers"], record["shards"], record["step"])] = record

    def done(self, key: Key) -> bool:
        """Whether a step need not be tried again."""
        line = self.lines.get(key)
        return line is not None and ("failed" not in line or line["failed"].startswith("took more"))

    def add(self, key: Key, result: dict[str, Any]) -> None:
        """Append a line, and wait until it is on disk."""
        now = datetime.now(UTC).isoformat(timespec="seconds")
        line = {**key._asdict(), "date": now, **machine(), **result}
        self.lines[key] = line
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(line) + "\n")
            file.flush()
            os.fsync(file.fileno())


class Runner:
    """Runs the steps of all sizes that the results lack.

    Args:
        options: of the command line.
        folder: for corpora and indexes.
    """

    def __init__(self, options: argparse.Namespace, folder: Path) -> None:
        self.options, self.folder = options, folder
        self.results = Results(options.results)
        self.limit = options.memory * 2**30
        self.failed = False

    def run(self) -> None:
        """Every size, the smallest first."""
        for papers in sorted(self.options.papers):
            wanted = [key for key in self.keys(papers) if not self.results.done(key)]
            if wanted:
                self.run_size(papers, wanted)

    def keys(self, papers: int) -> Iterator[Key]:
        """All steps of a size."""
        if papers not in self.options.corpus:
            yield Key(papers, 0, "corpus")
        for shards in self.options.shards:
            if (papers, shards) not in self.options.index:
                yield Key(papers, shards, "cocite build")
            for step in ("open", *ASKED):
                yield Key(papers, shards, f"cocite {step}")
        if self.options.peers:
            yield from (Key(papers, 0, f"tantivy {step}") for step in ("build", *ASKED))
            yield from (Key(papers, 0, f"faiss {step}") for step in ("build", "global"))

    def run_size(self, papers: int, wanted: list[Key]) -> None:
        """Some steps of a size; what they need is made again where it is gone."""
        corpus = self.options.corpus.get(papers) or self.made(Key(papers, 0, "corpus"), wanted)
        if corpus is None:
            return
        for shards in self.options.shards:
            steps = [key for key in wanted if key.shards == shards]
            if steps:
                given = self.options.index.get((papers, shards))
                self.run_engine(given, steps, Key(papers, shards, "cocite build"), corpus)
        for engine in ("tantivy", "faiss"):
            steps = [key for key in wanted if key.step.startswith(engine)]
            if steps:
                self.run_engine(None, steps, Key(papers, 0, f"{engine} build"), corpus)
        if not self.options.keep and papers not in self.options.corpus:
            shutil.rmtree(corpus)

    def run_engine(self, given: Path | None, steps: list[Key], build: Key, corpus: Path) -> None:
        """Build an index, unless one is given, and take the steps that need it."""
        index = given or self.made(build, steps, corpus)
        for key in steps:
            if index is not None and key != build:
                asks = ("--queries", self.options.queries, "--turns", self.options.turns)
                step = (sys.executable, "-m", "benchmarks._scale_steps", key.step, corpus, index, *asks)
                self.measure(key, step)
        if index is not None and given is None and not self.options.keep:
            shutil.rmtree(index)

    def made(self, key: Key, wanted: list[Key], corpus: Path | None = None) -> Path | None:
        """The folder that a step makes; None where it fails. One that is kept, and measured, is not made again."""
        folder = self.folder / f"{key.step.replace(' ', '-')}-{key.papers}-{key.shards}"
        if folder.is_dir() and key not in wanted:
            return folder
        if self.results.done(key) and "failed" in self.results.lines[key]:
            return None
        part = folder.with_suffix(".part")
        for present in (part, folder):
            shutil.rmtree(present, ignore_errors=True)
        result = self.run_step(key, self.command(key, part, corpus))
        if "failed" in result:
            shutil.rmtree(part, ignore_errors=True)
        else:
            of_corpus = [path for path in part.rglob("corpus") if path.is_dir()]
            result |= {"disk_mb": disk_mb(part), "corpus_mb": disk_mb(*of_corpus)}
            part.rename(folder)
        self.results.add(key, result)
        return None if "failed" in result else folder

    def command(self, key: Key, to: Path, corpus: Path | None) -> list[object]:
        """The command line that makes a corpus or an index."""
        cocite = [sys.executable, "-m", "cocite"]
        match key.step:
            case "corpus":
                return [*cocite, "corpus", "synth", "--papers", key.papers, "--to", to, "--json"]
            case "cocite build":
                return [*cocite, "index", "build", corpus, "--to", to, "--shards", key.shards, "--json"]
            case step:
                to.mkdir(parents=True)
                return [sys.executable, "-m", "benchmarks._scale_steps", step, corpus, to]

    def measure(self, key: Key, command: tuple[object, ...]) -> None:
        """Take a step that makes nothing."""
        self.results.add(key, self.run_step(key, [*command]))

    def run_step(self, key: Key, command: list[object]) -> dict[str, Any]:
        """Run and measure a step, and print what it took."""
        name = f"{key.papers:,} papers, {key.step}" + (f", {key.shards} shards" if key.shards else "")
        print(f"{name} …", file=sys.stderr, flush=True)
        result = measured(command, self.limit)
        self.failed |= "failed" in result
        print(f"{name}: {summary(result)}", file=sys.stderr, flush=True)
        # Where a step wrote to is of no interest to who reads the results.
        said = result.pop("says", {})
        return result | {
            "says": {name: value for name, value in said.items() if name not in ("to", "index", "rules")}
        }


def summary(result: dict[str, Any]) -> str:
    """What a step took, in a line."""
    if "failed" in result:
        return str(result["failed"])
    asked = result.get("says", {}).get("ms")
    return (
        f"{result['wall_s']:.1f} s, CPU {result['cpu_s']:.1f} s, {result['anonymous_mb']:,.0f} MB anonymous, "
        f"{result['mapped_mb']:,.0f} MB mapped"
        + (f", p50 {asked['p50']} ms, p95 {asked['p95']} ms" if asked else "")
    )


# -- tables -------------------------------------------------------------------------------------------------------


def tables(results: Results) -> str:
    """The results as Markdown: every step, then the queries by step."""
    heads = ["papers", "shards", "step", "wall s", "CPU s", "anonymous MB", "mapped MB", "disk MB"]
    heads += ["p50 ms", "p95 ms", "CPU p50 ms"]
    lines = [row(heads), row(["---"] * len(heads))]
    for key, line in sorted(results.lines.items(), key=lambda item: place(item[0])):
        papers, shards = f"{key.papers:,}", key.shards or ""
        if "failed" in line:
            lines.append(row([papers, shards, key.step, line["failed"], *[""] * 7]))
            continue
        said = line["says"]
        asked = (
            [f"{said['ms']['p50']:.1f}", f"{said['ms']['p95']:.1f}", f"{said['cpu_ms']['p50']:.1f}"]
            if "ms" in said
            else [""] * 3
        )
        disk = f"{line['disk_mb']:,.0f}" if "disk_mb" in line else ""
        seconds = [f"{line[name]:.1f}" for name in ("wall_s", "cpu_s")]
        memory = [f"{line[name]:,.0f}" for name in ("anonymous_mb", "mapped_mb")]
        lines.append(row([papers, shards, key.step, *seconds, *memory, disk, *asked]))
    lines += ["", *step_table(results)]
    return "\n".join(lines)


def step_table(results: Results) -> list[str]:
    """Milliseconds of cocite's queries by step, p50 / p95."""
    asked = {key: line for key, line in results.lines.items() if "steps_ms" in line.get("says", {})}
    if not asked:
        return []
    names = list(next(iter(asked.values()))["says"]["steps_ms"])
    lines = [row(["papers", "shards", "queries", *names]), row(["---"] * (3 + len(names)))]
    for key, line in sorted(asked.items(), key=lambda item: place(item[0])):
        spent = line["says"]["steps_ms"]
        cells = [f"{spent[name]['p50']:.1f} / {spent[name]['p95']:.1f}" for name in names]
        lines.append(row([f"{key.papers:,}", key.shards, key.step.removeprefix("cocite "), *cells]))
    return lines


def place(key: Key) -> tuple[int, int, int]:
    """Where a step stands in a table."""
    return key.papers, key.shards, ORDER.index(key.step)


def row(cells: list[Any]) -> str:
    """A row of a table."""
    return "| " + " | ".join(map(str, cells)) + " |"


# -- the command line ---------------------------------------------------------------------------------------------


def numbers(text: str) -> list[int]:
    """Numbers between commas."""
    return [int(float(part)) for part in text.split(",")]


def given(entries: list[str], *, shards: bool) -> dict[Any, Path]:
    """Present folders by the number of papers, or by that and the number of shards."""
    found: dict[Any, Path] = {}
    for entry in entries:
        size, _, path = entry.partition("=")
        key: Any = tuple(map(int, size.split(":"))) if shards else int(size)
        if not Path(path).is_dir():
            raise SystemExit(f"{entry}: no such folder")
        found[key] = Path(path)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--papers", type=numbers, default=[100_000], metavar="N,N")
    parser.add_argument("--shards", type=numbers, default=[1, 4], metavar="S,S")
    parser.add_argument("--queries", type=int, default=100, help="timed, of each kind")
    parser.add_argument("--turns", type=int, default=1, help="how often each is asked; the last time counts")
    parser.add_argument("--no-peers", dest="peers", action="store_false", help="leave tantivy and FAISS out")
    parser.add_argument("--results", type=Path, default=RESULTS)
    parser.add_argument("--keep", type=Path, help="folder for corpora and indexes")
    parser.add_argument("--corpus", action="append", default=[], metavar="N=DIR", help="a present corpus")
    parser.add_argument("--index", action="append", default=[], metavar="N:S=DIR", help="a present index")
    total = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 2**30
    parser.add_argument(
        "--memory",
        type=float,
        default=0.8 * total,
        metavar="GIB",
        help="of a step; one that takes more is ended",
    )
    parser.add_argument("--figures", type=Path, help="write what `cocite plan` computes from to this file")
    parser.add_argument("--only-print", action="store_true", help="run nothing")
    options = parser.parse_args()
    options.corpus, options.index = given(options.corpus, shards=False), given(options.index, shards=True)
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.keep or Path(scratch)
        folder.mkdir(parents=True, exist_ok=True)
        runner = Runner(options, folder)
        if not options.only_print:
            runner.run()
    print(tables(runner.results))
    if options.figures:
        from benchmarks._scale_figures import write_figures

        write_figures(list(runner.results.lines.values()), options.figures)
    sys.exit(int(runner.failed))


if __name__ == "__main__":
    main()
