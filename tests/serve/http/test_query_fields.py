"""The fields of a request's text."""

from __future__ import annotations

import pytest
from pydantic import TypeAdapter, ValidationError

from cocite_serve.http.query_fields import KeyForm, QueryText
from cocite_serve.http.schemas import RecommendRequest


def test_spaces_around_a_text_are_no_part_of_it() -> None:
    text = QueryText(title="  Parsing\n", authors=[" A. Author "])
    assert (text.title, text.authors) == ("Parsing", ["A. Author"])


@pytest.mark.parametrize(
    ("fields", "message"),
    [
        ({"titel": "x"}, "Extra inputs are not permitted"),
        ({"gap": -1}, "greater than or equal to 0"),
        ({"year": 999}, "greater than or equal to 1000"),
        ({"title": 3}, "valid string"),
    ],
)
def test_what_does_not_fit_is_refused(fields: dict[str, object], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        QueryText.model_validate(fields)


@pytest.mark.parametrize("field", ["top_k", "depth", "rerank", "gap", "year", "deadline_ms", "popularity"])
@pytest.mark.parametrize("value", [True, "1"])
def test_a_number_is_a_number_in_json_too(field: str, value: object) -> None:
    with pytest.raises(ValidationError, match="Input should be a valid (integer|number)"):
        RecommendRequest.model_validate({"title": "Parsing", field: value})


def test_a_whole_number_may_be_written_with_a_point() -> None:
    assert RecommendRequest.model_validate({"title": "Parsing", "top_k": 5.0}).top_k == 5


def test_a_form_of_keys_is_a_name_or_a_formula() -> None:
    forms: TypeAdapter[str] = TypeAdapter(KeyForm)
    for form in ("cocite", "better-bibtex", "auth.lower + year"):
        assert forms.validate_python(form) == form
    with pytest.raises(ValidationError, match="formula, character 1: cocite knows no function 'month'"):
        forms.validate_python("month")
    with pytest.raises(ValidationError, match="at most 200 characters"):
        forms.validate_python("a" * 201)
