"""Settings: typed, closed, overridable, and clear about what is wrong."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Annotated, Any, Literal

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st
from pydantic import Field, ValidationError, field_validator, model_validator

from cocite.config import Settings, with_overrides
from cocite.errors import ConfigError
from cocite.yaml_files import read_yaml


class Margins(Settings):
    random: float = 0.3
    nearest: float = 0.2


class Triplet(Settings):
    kind: Literal["triplet"] = "triplet"
    margins: Margins = Margins()


class Softmax(Settings):
    kind: Literal["softmax"] = "softmax"
    temperature: float = 1.0


class Recipe(Settings):
    name: str
    epochs: int = Field(3, ge=1)
    rate: float = 1e-3
    loss: Annotated[Triplet | Softmax, Field(discriminator="kind")] = Triplet()
    margins: Margins | None = None
    stages: list[Margins] = Field(default_factory=list)

    @field_validator("name")
    @classmethod
    def _short(cls, value: str) -> str:
        if len(value) > 10:
            raise ValueError("A name has at most 10 letters")
        return value


def recipe(tmp_path: Path, text: str) -> Path:
    path = tmp_path / "recipe.yaml"
    path.write_text(text)
    return path


def test_a_recipe_is_read_typed_and_overridden(tmp_path: Path) -> None:
    path = recipe(tmp_path, "name: small\nloss:\n  kind: triplet\n")
    loaded = Recipe.load(path, ["epochs=5", "rate=5e-4", "loss.margins.nearest=0.25", "stages=[{random: 1}]"])
    assert (loaded.name, loaded.epochs, loaded.rate) == ("small", 5, 5e-4)
    assert isinstance(loaded.loss, Triplet)
    assert loaded.loss.margins == Margins(random=0.3, nearest=0.25)
    assert loaded.stages == [Margins(random=1.0)]
    assert Recipe.load(str(path)).epochs == 3


def test_settings_are_frozen() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        Margins().random = 1.0  # type: ignore[misc]


def test_an_empty_file_and_an_empty_section_mean_the_defaults(tmp_path: Path) -> None:
    assert Margins.load(recipe(tmp_path, "# nothing\n")) == Margins()
    loaded = Recipe.load(recipe(tmp_path, "name: x\nmargins:\n"), ["margins.random=1"])
    assert loaded.margins == Margins(random=1.0)


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({"name": "x", "epocs": 4}, "unknown key 'epocs' (did you mean 'epochs'?)"),
        (
            {"name": "x", "margins": {"neerest": 1}},
            "unknown key 'margins.neerest' (did you mean 'nearest'?)",
        ),
        (
            {"name": "x", "loss": {"kind": "softmax", "temprature": 1}},
            "unknown key 'loss.softmax.temprature' (did you mean 'temperature'?)",
        ),
        (
            {"name": "x", "stages": [{}, {"rendom": 1}]},
            "unknown key 'stages.1.rendom' (did you mean 'random'?)",
        ),
        ({"epochs": 3}, "the key 'name' is missing"),
        ({"name": "x", "epochs": 0}, "epochs: input should be greater than or equal to 1, got 0"),
        ({"name": "a very long name"}, "name: a name has at most 10 letters, got 'a very long name'"),
    ],
)
def test_a_mistake_is_named_with_its_path(data: dict[str, Any], message: str) -> None:
    with pytest.raises(ConfigError, match="^recipe.yaml: ") as caught:
        Recipe.parse(data, where="recipe.yaml")
    assert str(caught.value) == f"recipe.yaml: {message}"


def test_a_long_wrong_value_is_cut() -> None:
    with pytest.raises(ConfigError, match=r"got 'y+\.\.\.$") as caught:
        Recipe.parse({"name": "x", "epochs": "y" * 1000})
    assert len(str(caught.value)) < 250


class Range(Settings):
    low: int = Field(0, ge=0, le=9)
    high: int = Field(9, ge=0, le=9)

    @model_validator(mode="after")
    def _ordered(self) -> Range:
        if self.low > self.high:
            raise ValueError(f"low is {self.low}, above high, {self.high}")
        return self


class Ranges(Settings):
    name: str = "x"
    one: Range = Range()
    many: list[Range] = Field(default_factory=list)
    warmup: Annotated[int, Field(ge=0, le=9)] | Annotated[float, Field(ge=0, lt=1)] = 0


@pytest.mark.parametrize(
    ("text", "overrides", "message"),
    [
        ("", ["one.low=-3"], "one.low=-3 on the command line: one.low: input should be greater than or"),
        (
            "one: {low: 2}\n",
            ["one.lo=1"],
            "one.lo=1 on the command line: unknown key 'one.lo' (did you mean 'low'?)",
        ),
        ("", ["one={low: 10}"], "one={low: 10} on the command line: one.low: input should be less than or"),
        ("", ["one. low = 3", "one.low=10"], "one.low=10 on the command line: one.low: input"),
        (
            "",
            ["many=[{low: 1}, {low: -1}]"],
            "many=[{low: 1}, {low: -1}] on the command line: many.1.low: input",
        ),
        ("", ["name="], "name= on the command line: name: input should be a valid string, got None"),
        ("name: y\none:\n  low: -3\n", ["one.high=4"], "FILE:3: one.low: input should be greater than or"),
        ("name: y\n\nmany:\n- low: 1\n- high: 11\n", [], "FILE:5: many.1.high: input should be less than or"),
        ("name: y\nmany:\n- {lw: 1}\n", ["name=z"], "FILE:3: unknown key 'many.0.lw'"),
        ("one:\n  low: 5\n", ["one.high=4"], "one.high=4 on the command line: one: low is 5, above high, 4"),
        (
            "name: y\n",
            ["one.low=5", "one.high=4"],
            "one.low=5, one.high=4 on the command line: one: low is 5, above high, 4",
        ),
        ("name: y\none:\n  low: 5\n  high: 4\n", ["name=z"], "FILE:2: one: low is 5, above high, 4"),
        ("name: y\none:\n  low: 5\n  high: 4\n", ["one.high=3"], "FILE:2: one: low is 5, above high, 3"),
        (
            "",
            ["warmup=1.5"],
            "warmup=1.5 on the command line: warmup: input should be a valid integer, got a number with a fractional "
            "part; or input should be less than 1, got 1.5",
        ),
        (
            "",
            ["one.low=.nan"],
            "one.low=.nan on the command line: one.low: input should be a finite number, got nan",
        ),
    ],
)
def test_a_mistake_is_blamed_on_the_override_or_the_line_that_it_comes_from(
    tmp_path: Path, text: str, overrides: list[str], message: str
) -> None:
    path = recipe(tmp_path, text)
    with pytest.raises(ConfigError, match=re.escape(message.replace("FILE", str(path)))) as caught:
        Ranges.load(path, overrides)
    assert str(caught.value).startswith(message.replace("FILE", str(path)))


def test_a_value_that_the_program_sets_is_named_as_such(tmp_path: Path) -> None:
    path = recipe(tmp_path, "one: {low: 2}\n")
    with pytest.raises(ConfigError, match=r"one\.low=-1 in place of the file's value: one\.low"):
        Ranges.parse(read_yaml(path), where=path, overrides=["one.low=3"], values={"one.low": -1})


names = st.from_regex(r"[a-z][a-z0-9_]{0,8}", fullmatch=True)


leaves = st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | names


trees = st.recursive(leaves, lambda inner: st.dictionaries(names, inner, max_size=3), max_leaves=5)


def flat(tree: dict[str, Any], prefix: str = "") -> dict[str, Any]:
    """Every leaf of a tree under its dotted path."""
    found: dict[str, Any] = {}
    for key, value in tree.items():
        if isinstance(value, dict) and value:
            found |= flat(value, f"{prefix}{key}.")
        else:
            found[prefix + key] = value
    return found


@given(st.dictionaries(names, trees, max_size=3))
def test_a_tree_is_rebuilt_from_its_dotted_overrides(tree: dict[str, Any]) -> None:
    overrides = [
        f"{path}={yaml.safe_dump(value, default_flow_style=True).removesuffix('...' + chr(10)).strip()}"
        for path, value in flat(tree).items()
    ]
    assert with_overrides({}, overrides) == tree


@given(st.dictionaries(names, trees, max_size=3), st.lists(names, min_size=1, max_size=3), st.integers())
def test_an_override_changes_its_key_alone_and_not_its_input(
    tree: dict[str, Any], path: list[str], value: int
) -> None:
    before = repr(tree)
    node: Any = tree
    for part in path[:-1]:
        node = node.get(part) if isinstance(node, dict) else None
        if node is None:
            break
    if node is not None and not isinstance(node, dict):
        with pytest.raises(ConfigError, match="not further keys"):
            with_overrides(tree, [f"{'.'.join(path)}={value}"])
        return
    after = with_overrides(tree, [f"{'.'.join(path)}={value}"])
    assert repr(tree) == before
    changed, kept = flat(after), flat(tree)
    dotted = ".".join(path)
    assert changed.pop(dotted) == value
    related = {
        key for key in kept if key == dotted or key.startswith(dotted + ".") or dotted.startswith(key + ".")
    }
    assert changed == {key: kept[key] for key in kept if key not in related}


def test_the_last_of_two_overrides_wins() -> None:
    assert with_overrides({"a": {"b": 1}}, ["a.b=2", "a.b=3"]) == {"a": {"b": 3}}


@pytest.mark.parametrize("text", ["epochs", "=3", "a..b=1", ".a=1", "a.=1", " =1"])
def test_what_is_not_key_and_value_is_refused(text: str) -> None:
    with pytest.raises(ConfigError, match=r"not of the form key\.path=value"):
        with_overrides({}, [text])


def test_an_override_below_a_value_and_bad_yaml_are_refused() -> None:
    with pytest.raises(ConfigError, match=r"'rate' in 'rate\.x' holds a value"):
        with_overrides({"rate": 1}, ["rate.x=1"])
    with pytest.raises(ConfigError, match="'rate' is not valid YAML"):
        with_overrides({}, ["rate=[1"])
