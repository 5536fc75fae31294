"""Whether an endpoint's answers are those of its OpenAPI document: what schemathesis generates, with all its checks.

    .venv/bin/python -m benchmarks.serve_cases [--max-examples 700] [--on process] [--json FILE]
    .venv/bin/python -m benchmarks.serve_cases --keys --phases examples,fuzzing --max-examples 10 --cases 1000
    .venv/bin/python -m benchmarks.serve_cases --on ray --beside split --max-examples 10 --cases 1000

Without --index or --url, the endpoint serves a model of two small networks with random weights over the starter corpus,
so that every path answers, and soon. Prints how many requests were sent, the statuses of their answers, how many of
them were 5xx, and how many failed each check; 504 is documented, for a request may name a deadline of a millisecond.
Ends with 1 where a check failed, or where fewer cases were generated than --cases asks for.

With --keys the endpoint asks for API keys, and there is a run for each kind of key, and one without any; a run is wrong
too where the answers that its key must get did not come (403 of a role, 429 of a rate). With --beside a second release
gets half of the requests: the index without some papers is served, and the whole one lies beside it.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import httpx

from benchmarks._endpoint import START_S, endpoint
from benchmarks._measured_process import provenance
from benchmarks._small_model import small_model
from cocite.cli.console import print_table
from cocite.retrieval.index.snapshot import IndexSnapshot
from cocite_serve.key_file import new_key

CONFIG = Path(__file__).resolve().parents[1] / "schemathesis.toml"
PHASES = "examples,coverage,fuzzing,stateful"
NO_ANSWER = "none"
DOCUMENT_CHECKS = (
    "status_code_conformance",
    "content_type_conformance",
    "response_headers_conformance",
    "response_schema_conformance",
)
"""Those that an answer fails which the document does not have."""
KEYS: dict[str, dict[str, Any]] = {
    "admin": {"role": "admin"},
    "reader": {},
    "of a low rate": {"per_minute": 60},
    "of a spent quota": {"per_day": 3},
}
"""Kinds of keys that the endpoint knows."""
EXPECTED = {"reader": "403", "of a low rate": "429", "of a spent quota": "429", "wrong": "401", "none": "401"}
"""Status of which there must be answers by the kind of key."""
GONE = ["papineni2002bleu", "bahdanau2015neural", "vaswani2017attention"]
"""Papers that the served release lacks, and the one beside it has."""


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--index", type=Path, help="index folder; by default a small model and index are made"
    )
    parser.add_argument("--model", type=Path, help="model folder, with --index")
    parser.add_argument("--url", help="ask a running endpoint instead of starting one")
    parser.add_argument("--on", choices=("ray", "process"), default="process", help="as of cocite serve")
    parser.add_argument(
        "--keys", action="store_true", help="ask for API keys, and send known, wrong and none"
    )
    parser.add_argument(
        "--beside",
        choices=("split", "shadow", "interleave"),
        help="what a second release is asked (--on ray, without --index)",
    )
    parser.add_argument("--cases", type=int, default=10_000, help="how many there must be at least")
    parser.add_argument("--max-examples", type=int, default=700, help="of each operation in a phase")
    parser.add_argument("--phases", default=PHASES, help="of schemathesis, separated by commas")
    parser.add_argument("--seed", type=int, default=7)
    parser.add_argument("--json", type=Path, help="file to write the result to")
    options = parser.parse_args()
    sent: dict[str, str | None] = {"": None}
    result = {
        **provenance("serve_cases"),
        "on": options.on if not options.url else options.url,
        "load before": os.getloadavg()[0],
    }
    with tempfile.TemporaryDirectory() as scratch, ExitStack() as stack:
        url = options.url
        if not url:
            model, index = options.model, options.index
            if index is None:
                model, index = small_model(Path(scratch))
            more = []
            if options.keys:
                sent = key_headers(Path(scratch) / "keys")
                more += ["--keys", str(Path(scratch) / "keys")]
            if options.beside:
                IndexSnapshot.remove(index, GONE)
                more += beside_options(options.beside)
            url, _ = stack.enter_context(endpoint(index, model, "--on", options.on, *more))
        if options.beside:
            wait_for_beside(url, sent.get("admin"))
            result["beside"] = options.beside
        runs = {
            kind: cases(url, Path(scratch), options.max_examples, options.seed, options.phases, header)
            for kind, header in sent.items()
        }
    result |= {"by key": runs} if options.keys else runs[""]
    result["load after"] = os.getloadavg()[0]
    print(json.dumps(result, indent=1))
    for kind, run in runs.items():
        print_table(f"answers {kind}".strip(), ["status", "answers"], list(run["answers"].items()))
    if options.json:
        options.json.write_text(json.dumps(result, indent=1) + "\n")
    if any(run["checks failed"] or run["exit code"] for run in runs.values()):
        raise SystemExit("schemathesis failed: its report above says which request, and how to send it again")
    if missing := [kind for kind in runs if kind in EXPECTED and EXPECTED[kind] not in runs[kind]["answers"]]:
        raise SystemExit(f"no answer had the status that its key must get: {', '.join(missing)}")
    count = sum(run["cases"] for run in runs.values())
    if count < options.cases:
        raise SystemExit(f"{count} cases are fewer than {options.cases}: raise --max-examples")


def key_headers(file: Path) -> dict[str, str | None]:
    """Kind of key -> the header that sends it; None: nothing is sent but what schemathesis makes up.

    Args:
        file: of API keys, to which those of :data:`KEYS` are added.
    """
    known: dict[str, str | None] = {
        kind: f"Authorization: Bearer {new_key(file, kind, **terms)}" for kind, terms in KEYS.items()
    }
    return known | {"wrong": f"X-API-Key: cocite_{'0' * 43}", "none": None}


def beside_options(traffic: str) -> list[str]:
    """Options of ``cocite serve`` for a second release: the index' first snapshot, beside the current one."""
    settings = {"index_version": '"000001"', "traffic": traffic, "share": 0.5}
    return [word for name, value in settings.items() for word in ("--set", f"beside.{name}={value}")]


def wait_for_beside(url: str, header: str | None) -> None:
    """Return when the second release answers; raises SystemExit where it does not within :data:`START_S`."""
    name, _, value = (header or "Accept: application/json").partition(": ")
    end = time.monotonic() + START_S
    while not httpx.get(f"{url}/v1/version", headers={name: value}, timeout=30).json()["beside"]:
        if time.monotonic() > end:
            raise SystemExit("the second release did not come up")
        time.sleep(0.5)


def cases(
    url: str, scratch: Path, max_examples: int, seed: int, phases: str = PHASES, header: str | None = None
) -> dict[str, Any]:
    """Let schemathesis ask an endpoint, its report on standard output, and count what came back.

    Args:
        url: of the endpoint.
        scratch: a folder for its events.
        max_examples: of each operation in a phase.
        seed: of the generated cases.
        phases: of schemathesis, separated by commas.
        header: that each request has, as ``NAME: VALUE``.
    """
    events, report = scratch / "events.ndjson", scratch / "report.json"
    command = [str(Path(sys.executable).with_name("schemathesis")), "--config-file", str(CONFIG)]
    command += ["run", f"{url}/openapi.json", "--checks", "all", "--phases", phases, "--continue-on-failure"]
    command += ["--header", header] if header else []
    command += ["--max-examples", str(max_examples), "--seed", str(seed), "--no-color"]
    command += ["--report", "ndjson,json"]
    command += ["--report-ndjson-path", str(events), "--report-json-path", str(report)]
    begin = time.perf_counter()
    done = subprocess.run(command, cwd=scratch, check=False)
    seconds = time.perf_counter() - begin
    summary = json.loads(report.read_text())
    answers, failed = counted(events)
    return {
        "schemathesis": summary["schemathesis_version"],
        "seed": seed,
        "max examples": max_examples,
        "phases": phases,
        "operations": summary["operations"]["tested"],
        "cases": summary["test_cases"]["generated"],
        "requests": sum(answers.values()),
        "s": round(seconds, 1),
        "answers": dict(sorted(answers.items())),
        "5xx": sum(count for status, count in answers.items() if status.startswith("5")),
        "5xx but 504": sum(
            count for status, count in answers.items() if status.startswith("5") and status != "504"
        ),
        "undocumented answers": sum(failed[check] for check in DOCUMENT_CHECKS),
        "checks failed": dict(sorted(failed.items())),
        "errors": len(summary["errors"]),
        "exit code": done.returncode,
    }


def counted(events: Path) -> tuple[Counter[str], Counter[str]]:
    """How many requests each status answered, and how many answers failed each check.

    Args:
        events: of a run of schemathesis, one JSON document a line.
    """
    answers, failed = Counter[str](), Counter[str]()
    with events.open(encoding="utf-8") as lines:
        for line in lines:
            recorder = json.loads(line).get("ScenarioFinished", {}).get("recorder", {})
            for sent in recorder.get("interactions", {}).values():
                response = sent["response"]
                answers[str(response["status_code"]) if response else NO_ANSWER] += 1
            for checks in recorder.get("checks", {}).values():
                failed.update(check["name"] for check in checks if check["status"] == "failure")
    return answers, failed


if __name__ == "__main__":
    main()
