from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from cocite.corpus.importers.values import FieldError, integer, mapping, objects, text, texts

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.sampled_from(["name", "x"]), inner, max_size=2)
    ),
    max_leaves=5,
)


@pytest.mark.parametrize(
    ("value", "read"),
    [("a", "a"), ("", ""), (7, "7"), (2.5, "2.5"), (None, "other")],
)
def test_text_is_the_first_that_is_present(value: Any, read: str) -> None:
    assert text({"a": value, "b": "other"}, "a", "b") == read
    assert text({}, "a", "b") == ""


@pytest.mark.parametrize(
    ("value", "read"),
    [
        (7, 7),
        ("7", 7),
        (" -12 ", -12),
        (3.0, 3),
        ("", 5),
        ("  ", 5),
        (None, 5),
        (10**12, 2**31 - 1),
        (-(10**12), -(2**31)),
    ],
)
def test_whole_numbers(value: Any, read: int) -> None:
    assert integer({"n": value}, "n", 5) == read


@pytest.mark.parametrize(
    ("read", "value", "message"),
    [
        (text, True, "f must be text, not true or false"),
        (text, ["a"], "f must be text, not a list"),
        (integer, True, "f must be a whole number, not true or false"),
        (integer, 2.5, r"f must be a whole number, not 2\.5"),
        (integer, "1.0", r"f must be a whole number, not '1\.0'"),
        (integer, "7" * 100, "f must be a whole number, not longer text"),
        (mapping, [], "f must be an object, not a list"),
        (objects, {}, "f must be a list of objects, not an object"),
        (objects, [{}, 1], "f must be a list of objects, not a list"),
        (texts, "a, b", "f must be a list, not 'a, b'"),
        (texts, ["a", []], "f must be a list of texts, not a list"),
        (texts, [True], "f must be a list of texts, not true or false"),
    ],
)
def test_a_value_of_another_type_is_refused(read: Any, value: Any, message: str) -> None:
    with pytest.raises(FieldError, match=f"^{message}$") as caught:
        read({"f": value}, "f")
    assert caught.value.field == "f"


def test_lists_of_texts_and_of_objects() -> None:
    assert texts({"f": ["a", 7, None, {"name": "b"}, {"x": "c"}]}, "f") == ("a", "7", "b", "")
    assert texts({"f": [{"category": "CS"}]}, "f", "category") == ("CS",)
    assert texts({"f": None}, "f") == texts({}, "f") == ()
    assert objects({"f": None}, "f") == []
    assert mapping({}, "f") == {}


@given(JSON)
def test_any_value_is_read_or_refused(value: Any) -> None:
    for read, kind in ((text, str), (integer, int), (mapping, dict), (objects, list), (texts, tuple)):
        try:
            result = read({"f": value}, "f")
        except FieldError as error:
            result, message = None, str(error)
        assert isinstance(result, kind) or (result is None and message.startswith("f must be "))
