"""The fields by which a request gives its text, and types of fields that several requests have."""

from typing import Annotated, Any

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    StringConstraints,
    WithJsonSchema,
)
from pydantic_core import PydanticCustomError

from cocite.corpus.bibtex import BETTER_BIBTEX, COCITE, formula_of
from cocite.corpus.key_formula import MAX_CHARS
from cocite.drafts.style_names import HINT, SHORT_NAMES, is_style
from cocite.errors import InputError


def _number(value: Any) -> Any:
    """Refuse what pydantic would convert: the document says number, and ``true`` is none."""
    if isinstance(value, bool | str):
        raise PydanticCustomError("int_type", "Input should be a valid integer")
    return value


def _style(value: str) -> str:
    if not is_style(value):
        raise ValueError(f"no style has this name; {HINT}")
    return value


def _keys(value: str) -> str:
    try:
        formula_of(value)
    except InputError as error:
        raise ValueError(str(error)) from error
    return value


Whole = Annotated[int, BeforeValidator(_number)]
"""A whole number; 5.0 is one in JSON."""
Share = Annotated[float, Field(strict=True, ge=0, le=1)]
Name = Annotated[str, StringConstraints(min_length=1, max_length=200)]
ReleaseChoice = Annotated[str, StringConstraints(max_length=200)]
"""A release by its name. Which of them are loaded is known when a request is answered, and not here."""
StyleName = Annotated[
    str,
    StringConstraints(max_length=200),
    AfterValidator(_style),
    WithJsonSchema({"type": "string", "maxLength": 200, "examples": [*SHORT_NAMES]}),
]
"""A style of CSL by its name."""
KeyForm = Annotated[
    str,
    StringConstraints(max_length=MAX_CHARS),
    AfterValidator(_keys),
    WithJsonSchema(
        {"type": "string", "maxLength": MAX_CHARS, "examples": [COCITE, BETTER_BIBTEX, "auth.lower + year"]}
    ),
]
"""A form of citation keys by its name, or a formula."""
CiteKey = Annotated[str, StringConstraints(min_length=1, max_length=MAX_CHARS)]
"""A key by which a draft cites a paper."""
Milliseconds = Annotated[Whole, Field(ge=1, le=86_400_000)]
Year = Annotated[Whole, Field(ge=1000, le=2999)]
Text = Annotated[str, StringConstraints(strip_whitespace=True)]

GAP_EXAMPLE = (
    "Attention lets every position look at every other one, and replaced recurrence in machine "
    "translation [CIT], while pretrained encoders changed most other tasks."
)
KEY_FORMS = (
    "`cocite`, as `vaswani2017attention`, `better-bibtex`, as Better BibTeX makes them by default: "
    "`vaswaniAttentionAllYou2017`, or a formula of Better BibTeX: `auth`, `authors`, `authEtAl`, `authEtal2`, "
    "`shorttitle`, `veryshorttitle`, `title`, `year`, `shortyear`, with filters such as `.lower` and `.condense(_)`, "
    "and texts in quotes, joined by `+`."
)
"""The forms of citation keys, for the description of a field that chooses one."""
TAKEN_KEYS = (
    "Keys that stand for other papers, such as those by which a draft cites its own: no paper gets one of them, "
    "whatever its capitals."
)
"""What a list of keys holds that no paper may get."""
STYLE_NAMES = (
    f"{', '.join(SHORT_NAMES)}, or the name of another style in CSL's public repository, as "
    "`springer-lecture-notes-in-computer-science`."
)
"""The names of styles, for the description of a field that chooses one."""


class QueryText(BaseModel):
    """The text of a manuscript: a title and abstract, a text with a gap, or both.\f

    Example:
        >>> QueryText(title="  Neural machine translation ", year=2015).title
        'Neural machine translation'
    """

    model_config = ConfigDict(extra="forbid")

    title: Text = Field(default="", description="Title of the manuscript.")
    abstract: Text = Field(default="", description="Abstract of the manuscript.")
    context: Text = Field(
        default="",
        description="Text around the missing citation. The gap reads `[CIT]`; it may be left out when the whole "
        "text is about one citation.",
    )
    text: Text = Field(
        default="",
        description="Anything pasted: when it holds a gap it is read as text with gaps, else as a title "
        "(its first line, when short) and an abstract. A gap reads `[CIT]`, `[?]`, `(citation needed)`, in LaTeX also "
        "`\\cite{}`, `\\cite{?}` or `\\todo{cite}`, in Markdown `[@?]`. Not together with `context`.",
    )
    gap: Whole = Field(
        default=0,
        ge=0,
        description="Which gap to fill when there are several: 0 is the first of the text.",
    )
    year: Year | None = Field(
        default=None,
        description="Year of the manuscript; weighs how old papers are. Later papers are not returned, unless "
        "`candidates` or `year_to` says otherwise.",
    )
    authors: list[Text] = Field(
        default=[], description="Authors of the manuscript, as the corpus writes names."
    )
    venue: Text = Field(default="", description="Venue the manuscript is written for.")
