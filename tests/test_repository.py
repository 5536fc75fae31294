"""The rules of the repository that no single module's tests can guard."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
import yaml
from helpers.sources import PACKAGES, ROOT, SOURCES, module_of, name_of

MODULES = [path for path in SOURCES if path.name != "__main__.py"]


def python(code: str, *args: str, cwd: Path | None = None) -> subprocess.CompletedProcess[str]:
    """Run code in a fresh interpreter."""
    return subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, cwd=cwd)


# -- the standard library's platform --------------------------------------------------------------------------


def test_no_source_folder_is_a_package() -> None:
    for folder in ("platform", "jobs", "tuning", "serve"):
        assert not (ROOT / folder / "__init__.py").exists(), (
            f"{folder}/__init__.py shadows or doubles a module"
        )


def test_the_root_on_the_path_does_not_shadow_platform() -> None:
    done = python(
        "import sys; sys.path.insert(0, sys.argv[1]); import platform, uuid; print(platform.system()); uuid.uuid4()",
        str(ROOT),
        cwd=ROOT,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() != ""


# -- what is loaded is checked --------------------------------------------------------------------------------

LOADS = re.compile(r"\b(load_file|safe_open|Auto\w+\.from_pretrained)\(|model_file=")
"""What reads weights or tokenizers."""
CHECKED_BEFORE = {
    "platform/cocite/nn/weight_files.py": "gets a file of an artifact that its callers have opened",
    "platform/cocite/pipeline/huggingface/usage.py": "has code as text, for the reader of a model card",
    "platform/cocite/training/engine/checkpoints.py": "opens what the store of checkpoints has verified",
    "platform/cocite/training/engine/mining.py": "opens what the store of checkpoints has verified",
    "platform/cocite/training/engine/preparation.py": "opens what the store of checkpoints has verified",
}


def test_whoever_loads_weights_has_them_verified() -> None:
    loading = {name_of(path) for path in SOURCES if LOADS.search(path.read_text(encoding="utf-8"))}
    checking = {
        name
        for name in loading
        if re.search(
            r"^ +.*\b(open_verified(_once)?|open_input|verify)\(",
            (ROOT / name).read_text(encoding="utf-8"),
            re.M,
        )
    }
    assert loading - checking == set(CHECKED_BEFORE)


# -- what the library may need --------------------------------------------------------------------------------

IMPORT_WITHOUT = """
import importlib, sys

walled, failed = set(), False
for blocked, modules in zip(sys.argv[1::2], sys.argv[2::2]):
    for name in walled - set(blocked.split(",")):
        del sys.modules[name]
    walled = set(blocked.split(","))
    # As if it were not installed: an import fails, and who only asks whether it is there is told that it is not.
    sys.modules.update(dict.fromkeys(walled))
    for name in modules.split(","):
        try:
            importlib.import_module(name)
        except ModuleNotFoundError as error:
            failed = True
            print(f"{name} needs {error.name}")
sys.exit(failed)
"""
PLATFORM_ONLY = ("ray", "mlflow", "fastapi", "starlette", "uvicorn", "hyperopt", "deepspeed")
PLATFORM_ONLY += ("cocite_jobs", "cocite_mlflow", "cocite_serve", "cocite_tuning")
NEVER_IN_TRAINING = (
    "faiss",
    "bm25s",
    "lightgbm",
    "rich",
    "typer",
    "tantivy",
    "gensim",
    "ir_measures",
    "pytrec_eval",
)
TRAINING = ("nn", "systems", "training", "sampling")
READING = ("cocite.corpus.records", "cocite.corpus.store", "cocite.corpus.csr", "cocite.corpus.history")


def test_the_library_imports_without_ray_and_models_and_training_with_little_else() -> None:
    """Models and training first, behind the high wall, then all of the library behind the low one."""
    folders = [PACKAGES["cocite"] / name for name in TRAINING]
    training = [module_of(path) for path in MODULES if any(path.is_relative_to(folder) for folder in folders)]
    library = [module_of(path) for path in MODULES if path.is_relative_to(PACKAGES["cocite"])]
    assert set(READING) < set(library)
    assert set(training) < set(library)
    high, low = ",".join(PLATFORM_ONLY + NEVER_IN_TRAINING), ",".join(PLATFORM_ONLY)
    done = python(IMPORT_WITHOUT, high, ",".join([*READING, *training]), low, ",".join(library))
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_wall_stops_what_it_should() -> None:
    done = python(IMPORT_WITHOUT, "json", "cocite.artifacts")
    assert done.returncode == 1
    assert "cocite.artifacts needs json" in done.stdout


# -- nothing that runs what it reads --------------------------------------------------------------------------

FORBIDDEN_MODULES = {"pickle", "cPickle", "_pickle", "cloudpickle", "dill", "joblib", "shelve", "marshal"}
FORBIDDEN_CALLS = {
    "torch.load", "torch.save", "yaml.load", "yaml.full_load", "yaml.unsafe_load", "yaml.load_all",
    "pd.read_pickle", "pandas.read_pickle", "os.system", "eval", "exec", "np.load", "numpy.load",
}  # fmt: skip
ALLOWED_CALLS = {
    # A subclass of the safe loader, which adds the check for a key given twice.
    ("platform/cocite/yaml_files.py", "yaml.load"),
    # Another one, to which R code in a front matter is nothing.
    ("platform/cocite/drafts/markdown.py", "yaml.load"),
    # The one place that loads arrays: safe in threads, without pickle, and with a sentence for a damaged file.
    ("platform/cocite/artifacts.py", "np.load"),
    # Likewise of the bytes of a part, which may come from an object store.
    ("jobs/cocite_jobs/steps/files.py", "np.load"),
}


def dotted(node: ast.expr) -> str:
    """``a.b.c`` of a name or attribute, else an empty string."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted(node.value)
        return f"{base}.{node.attr}" if base else ""
    return ""


def offences(source: str) -> Iterator[tuple[int, str]]:
    """Line and name of everything in a source that could run what it reads from a file."""
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.Import):
            yield from (
                (node.lineno, a.name) for a in node.names if a.name.split(".")[0] in FORBIDDEN_MODULES
            )
        elif isinstance(node, ast.ImportFrom):
            if (node.module or "").split(".")[0] in FORBIDDEN_MODULES:
                yield node.lineno, node.module or ""
        elif isinstance(node, ast.Call):
            name = dotted(node.func)
            if name in FORBIDDEN_CALLS:
                yield node.lineno, name
            for keyword in node.keywords:
                value = keyword.value.value if isinstance(keyword.value, ast.Constant) else None
                if keyword.arg in ("allow_pickle", "shell", "trust_remote_code") and value is not False:
                    yield node.lineno, f"{name}({keyword.arg}=...)"


@pytest.mark.parametrize("path", SOURCES, ids=name_of)
def test_no_source_reads_pickles_or_runs_what_it_reads(path: Path) -> None:
    found = [
        f"{name_of(path)}:{line}: {name}"
        for line, name in offences(path.read_text(encoding="utf-8"))
        if (name_of(path), name) not in ALLOWED_CALLS
    ]
    assert found == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("import pickle", "pickle"),
        ("from cloudpickle import loads", "cloudpickle"),
        ("import torch\nx = torch.load('a')", "torch.load"),
        ("np.load('a')", "np.load"),
        ("lib.load('a', allow_pickle=True)", "lib.load(allow_pickle=...)"),
        ("lib.load('a', allow_pickle=flag)", "lib.load(allow_pickle=...)"),
        (
            "AutoModel.from_pretrained(p, trust_remote_code=True)",
            "AutoModel.from_pretrained(trust_remote_code=...)",
        ),
        ("yaml.load(text)", "yaml.load"),
        ("eval('1')", "eval"),
        ("load_array(p)\nlib.load('a', allow_pickle=False)\nmodel.eval()\nyaml.safe_load(t)", None),
    ],
)
def test_the_scan_finds_what_it_should(source: str, found: str | None) -> None:
    assert [name for _, name in offences(source)] == ([found] if found else [])


# -- files ----------------------------------------------------------------------------------------------------

LIMIT = 400
LONGER: set[str] = set()
"""Files that are one idea and longer than the limit all the same, each with a reason beside it."""


def test_no_source_file_is_too_long_to_hold_in_mind() -> None:
    lengths = {name_of(path): len(path.read_text(encoding="utf-8").splitlines()) for path in SOURCES}
    assert {name: n for name, n in lengths.items() if n > LIMIT and name not in LONGER} == {}
    assert {name for name in LONGER if lengths.get(name, 0) <= LIMIT} == set(), (
        "no longer long: take it off the list"
    )


def test_every_package_ships_its_types() -> None:
    for folder in PACKAGES.values():
        assert (folder / "py.typed").is_file(), folder


RECIPES = sorted(path for folder in PACKAGES.values() for path in folder.rglob("recipes/**/*.yaml"))


@pytest.mark.parametrize("path", RECIPES, ids=name_of)
def test_every_recipe_names_its_command_in_the_header(path: Path) -> None:
    text = path.read_text(encoding="utf-8")
    header = "\n".join(re.match(r"(?:#.*\n)*", text).group().splitlines())  # type: ignore[union-attr]
    commands = re.findall(r"^#\s+cocite [a-z].*$", header, re.MULTILINE)
    assert any(path.stem in command for command in commands), (
        f"{name_of(path)}: no command with its name in the header"
    )
    assert isinstance(yaml.safe_load(text), dict)


# -- the environment ------------------------------------------------------------------------------------------


def pins() -> dict[str, str]:
    """The constraints file: normalised name to version."""
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pairs = [line.split("==") for line in lines if line and not line.startswith("#")]
    return {re.sub(r"[-_.]+", "-", name).lower(): version for name, version in pairs}


def requirements() -> set[str]:
    """Normalised names of all that pyproject.toml asks for, the extras included."""
    import tomllib

    project = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
    asked = [
        *project["dependencies"],
        *(r for extra in project["optional-dependencies"].values() for r in extra),
    ]
    return {re.sub(r"[-_.]+", "-", re.match(r"[\w.-]+", r).group()).lower() for r in asked}  # type: ignore[union-attr]


def test_every_requirement_is_pinned_and_torch_without_a_build_tag() -> None:
    assert requirements() - pins().keys() == set()
    assert not any("+" in version for version in pins().values())


def test_the_environment_names_no_host_and_no_path_of_a_machine() -> None:
    for name in ("constraints.txt", "pyproject.toml", "Makefile", ".ci/run"):
        text = (ROOT / name).read_text(encoding="utf-8")
        assert (
            re.findall(r"(?:https?|file)://\S+|--(?:index-url|extra-index-url|find-links)\S*", text) == []
        ), name
        assert re.findall(r"(?<![\w.])/(?:home|root|opt|work|mnt|tmp)/\S*", text) == [], name


def test_the_makefile_has_the_targets_that_the_readme_names() -> None:
    makefile, readme = (ROOT / "Makefile").read_text(), (ROOT / "README.md").read_text()
    targets = set(re.findall(r"^([a-z-]+):", makefile, re.MULTILINE))
    named = set(re.findall(r"^\s*make ([a-z-]+)", readme, re.MULTILINE)) | set(
        re.findall(r"`make ([a-z-]+)", readme)
    )
    assert {"demo", "test"} <= named
    assert named <= targets
