from __future__ import annotations

from pathlib import Path

import pytest

from cocite.errors import ConfigError
from cocite_serve.settings import RegistrySettings, ServeSettings


def test_nested_settings_are_set_by_dotted_names() -> None:
    settings = ServeSettings.parse(
        {"index": "index"},
        where="cocite serve",
        overrides=["limits.top_k=50", "retriever.max_replicas=4", "watch.seconds=5"],
        option="--set",
    )
    assert (settings.limits.top_k, settings.retriever.max_replicas, settings.watch.seconds) == (50, 4, 5)
    assert settings.reranker.max_replicas is None, "each stage has its own"


@pytest.mark.parametrize(
    ("override", "message"),
    [
        ("port=0", "port"),
        ("port=65536", "port"),
        ("request_timeout_s=0", "request_timeout_s"),
        ("limits.body_bytes=10", "limits.body_bytes"),
        ("retriever.replicas=0", "retriever.replicas"),
        ("watch.seconds=-1", "watch.seconds"),
        ("cross_weight=1.5", "cross_weight"),
        ("shards.policy=some", "shards.policy"),
        ("shards.round_s=0", "shards.round_s"),
        ("traces.endpoint=localhost:4317", "traces.endpoint"),
        ("traces.endpoint=http://user:password@host", "traces.endpoint"),
        ("traces.share=1.5", "traces.share"),
        ("wach.seconds=1", "did you mean 'watch"),
    ],
)
def test_what_does_not_fit_is_refused_by_its_name(override: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        ServeSettings.parse({"index": "index"}, where="x", overrides=[override], option="--set")


def test_the_cache_is_the_users(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path))
    assert RegistrySettings().cache == tmp_path / "cocite" / "models"


def test_the_defaults_keep_to_the_limits() -> None:
    settings = ServeSettings(index=Path("index"))
    assert settings.top_k <= settings.limits.top_k
    assert settings.depth <= settings.limits.depth
    assert settings.rerank <= settings.limits.rerank


def test_a_password_in_an_address_is_not_repeated() -> None:
    with pytest.raises(ConfigError, match=r"without a password, got 'ftp://host'$"):
        ServeSettings.parse({"index": "x", "traces": {"endpoint": "ftp://me:secret@host"}}, where="the test")
