"""What all tests share: an offline, single-threaded, reproducible process, and the gates of marked tests."""

from __future__ import annotations

import gc
import os
import shutil
import signal
import tempfile
import uuid
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import fsspec
import pytest
from filelock import FileLock

if TYPE_CHECKING:
    from helpers.object_stores import ObjectStore

    from cocite.corpus.store import Corpus

ROOT = Path(__file__).resolve().parent.parent

# Before anything heavy is imported: nothing is fetched, nothing is reported, one thread for each library.
for name, value in {
    "HAYSTACK_TELEMETRY_ENABLED": "False",
    "HF_HUB_OFFLINE": "1",
    # ir_datasets makes its folders when it is imported.
    "IR_DATASETS_HOME": f"{tempfile.gettempdir()}/cocite-tests-ir-datasets",
    "MLFLOW_DISABLE_TELEMETRY": "true",
    # Each process that a test starts would compile the same loops, for XDG_CACHE_HOME is the tests' own.
    "NUMBA_CACHE_DIR": str(ROOT / ".cache" / "numba"),
    # What is fastest depends on the processor, and scores of two ways to serve are compared.
    "COCITE_PRECISION": "float32",
    "RAY_USAGE_STATS_ENABLED": "0",
    # Ray gives its agents 30 s and its workers 60 s to come up, which a busy machine may exceed.
    "RAY_agent_register_timeout_ms": "240000",
    "RAY_worker_register_timeout_seconds": "300",
    "TOKENIZERS_PARALLELISM": "false",
    "OMP_NUM_THREADS": "1",
    "COLUMNS": "120",
    "NO_COLOR": "1",
}.items():
    os.environ[name] = value

# Thousands of tests are many objects: nothing is looked for among them while they are collected, nor ever after.
gc.disable()

from helpers.distribution import FilesInOrder, slowest_first  # noqa: E402
from helpers.synthetic import SyntheticCorpora, shared_folder  # noqa: E402
from hypothesis import HealthCheck, settings  # noqa: E402

CONNECTION_SETTINGS = ("AWS_", "COCITE_", "HF_HUB", "HOME", "RAY_ADDRESS", "RAY_AUTH", "XDG_")

# Derandomised: the same examples every time; no deadline: a busy machine is not a failure.
settings.register_profile(
    "cocite",
    derandomize=True,
    deadline=None,
    database=None,
    max_examples=50,
    suppress_health_check=[HealthCheck.too_slow, HealthCheck.function_scoped_fixture],
)
settings.load_profile("cocite")


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: object) -> FilesInOrder | None:
    """Give files to the worker processes in the order of :func:`pytest_collection_modifyitems`."""
    return FilesInOrder(config, log) if config.getvalue("dist") == "loadfile" else None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    """Begin with the slowest files, and skip what needs the ACL corpus where ``COCITE_ACL`` names no folder.

    What is marked ``thorough`` is left out where ``COCITE_THOROUGH`` is not set.

    A failed test of real processes is run once more, and the summary names it: of some hundred that start Ray, Serve
    or a browser on a busy machine, one is now and then later than it waits for.
    """
    if not os.environ.get("COCITE_THOROUGH"):
        config.hook.pytest_deselected(items=[item for item in items if "thorough" in item.keywords])
        items[:] = [item for item in items if "thorough" not in item.keywords]
    items[:] = slowest_first(items, ROOT / "tests")
    for item in items:
        if "integration" in item.keywords:
            item.add_marker(pytest.mark.flaky(reruns=1))
    if os.environ.get("COCITE_ACL"):
        return
    gate = pytest.mark.skip(reason="needs the ACL corpus: set COCITE_ACL to its folder")
    for item in items:
        if "acl" in item.keywords:
            item.add_marker(gate)


def pytest_collection_finish() -> None:
    """Keep the garbage collector from what there is by now: each run, of which a training has some, took 0.5 s."""
    gc.freeze()
    gc.enable()


@pytest.fixture(scope="session", autouse=True)
def _cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """What is remembered of verified artifacts, fetched and logged is these tests' own."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("cache")))
        patch.setenv("XDG_STATE_HOME", str(tmp_path_factory.mktemp("state")))
        yield


@pytest.fixture(autouse=True)
def _connections() -> Iterator[None]:
    """Put back what decides where, or as whom, the later tests of this process connect.

    ``ray.init`` and an endpoint's start set such variables for their process. Where one stays behind, Ray may start a
    head with another ``RAY_AUTH_MODE`` than its own process has read before, and be refused by it.
    """
    before = _connection_settings()
    yield
    for name in _connection_settings().keys() - before.keys():
        del os.environ[name]
    os.environ.update(before)


def _connection_settings() -> dict[str, str]:
    return {name: value for name, value in os.environ.items() if name.startswith(CONNECTION_SETTINGS)}


@pytest.fixture
def signal_handlers() -> Iterator[None]:
    """Put back the handlers that a command changes, as `cocite serve` does, which sets its own until it ends."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.fixture(scope="session")
def s3() -> Iterator[ObjectStore]:
    """A bucket of S3's protocol."""
    from helpers.object_stores import s3_store

    with s3_store() as store:
        yield store


@pytest.fixture(scope="session")
def gs() -> Iterator[ObjectStore]:
    """A bucket of Google Cloud Storage's protocol."""
    from helpers.object_stores import gs_store

    with gs_store() as store:
        yield store


@pytest.fixture
def folder_in(
    request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> Iterator[Callable[[str], str]]:
    """Gives the URI of an empty folder that is not on this machine: ``folder_in("memory")``, ``"s3"`` or ``"gs"``.

    The test has a cache of its own for what is fetched, of which this process uses nothing afterwards.
    """
    from cocite_jobs.storage.use_marks import release_all

    monkeypatch.setenv("COCITE_CACHE", str(tmp_path / "cache"))
    name = uuid.uuid4().hex

    def folder(kind: str) -> str:
        if kind == "memory":
            return f"memory://{name}"
        store: ObjectStore = request.getfixturevalue(kind)
        for variable, value in (store.environment | store.credentials).items():
            monkeypatch.setenv(variable, value)
        return f"{store.root}/{name}"

    yield folder
    release_all()
    files = fsspec.filesystem("memory")
    if files.exists(f"/{name}"):
        files.rm(f"/{name}", recursive=True)


@pytest.fixture
def remote(request: pytest.FixtureRequest, folder_in: Callable[[str], str]) -> str:
    """The URI of an empty folder that is not on this machine; ``helpers.object_stores.everywhere`` gives it thrice."""
    return folder_in(getattr(request, "param", "memory"))


@pytest.fixture(scope="session")
def root() -> Path:
    """The repository's root."""
    return ROOT


@pytest.fixture(scope="session")
def synthetic(tmp_path_factory: pytest.TempPathFactory) -> SyntheticCorpora:
    """Builds synthetic corpora, each once in a test run: ``synthetic(300, seed=5)``."""
    return SyntheticCorpora(shared_folder(tmp_path_factory.getbasetemp()) / "synthetic")


@pytest.fixture(scope="session")
def mlflow_tables(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store of MLflow without runs, to copy: to make its tables takes MLflow seconds."""
    from cocite_mlflow.connection import connect

    folder = shared_folder(tmp_path_factory.getbasetemp()) / "mlflow-tables"
    folder.mkdir(exist_ok=True)
    with FileLock(folder / "lock"):
        if not (folder / "mlflow.db").exists():
            connect(f"sqlite:///{folder / 'mlflow.db'}")
    return folder / "mlflow.db"


@pytest.fixture(scope="session")
def acl() -> Path:
    """The folder of the ACL corpus, for tests marked ``acl``."""
    return Path(os.environ["COCITE_ACL"])


@pytest.fixture(scope="session")
def acl_store(acl: Path, tmp_path_factory: pytest.TempPathFactory) -> Corpus:
    """The ACL corpus as a store, split by year. The processes of one test run import it once between them."""
    from cocite.corpus.builder import build
    from cocite.corpus.importers import open_source
    from cocite.corpus.splits import by_year_name
    from cocite.corpus.store import Corpus

    shared = shared_folder(tmp_path_factory.getbasetemp())
    with FileLock(shared / "acl-store.lock"):
        if not (shared / "acl-store").exists():
            build(open_source(acl), shared / "acl-store", split=by_year_name(2009, 2010))
    return Corpus.open(shared / "acl-store")


@pytest.fixture(scope="session")
def chromium() -> str:
    """Path of a Chromium for tests of the page; without one they are skipped."""
    names = ("chromium", "chromium-browser", "google-chrome", "chrome")
    found = os.environ.get("COCITE_CHROMIUM") or next(filter(None, map(shutil.which, names)), None)
    if found is None:
        pytest.skip("no Chromium found: install it (Debian: apt-get install chromium) or set COCITE_CHROMIUM")
    return found
