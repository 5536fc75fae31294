"""Request and answer of ``/v1/draft/text``.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from pydantic import BaseModel, ConfigDict, Field

from cocite.drafts.draft import Kind
from cocite.drafts.limits import MAX_FILES
from cocite_serve.http.draft_schemas import CitedOut, DraftFile, TogetherOut
from cocite_serve.http.query_fields import GAP_EXAMPLE, Whole
from cocite_serve.http.schemas import SuggestionQuality


class DraftTextRequest(BaseModel):
    """A draft whose text is wanted.\f

    Example:
        >>> DraftTextRequest(files=[{"name": "paper.txt", "text": "We parse trees [CIT]."}]).main
        ''
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={"examples": [{"files": [{"name": "draft.txt", "text": GAP_EXAMPLE}]}]},
    )

    files: list[DraftFile] = Field(
        min_length=1, max_length=MAX_FILES, description="As in `/v1/draft`, and so is `main`."
    )
    main: str = Field(default="", max_length=300)
    bib: str = Field(
        default="",
        description="Text of a `.bib` file, beside those that the draft names. The entries that it cites are enough.",
    )
    together: Whole = Field(
        default=0, ge=0, le=100, description="Papers usually cited together with what the draft cites."
    )
    suggest: Whole = Field(
        default=0,
        ge=0,
        le=10_000,
        description="Sentences that cite nothing and seem to need a citation, at most. Only a model with a classifier "
        "of such sentences allows more than 0: see `suggests` of `/v1/version`.",
    )


class SuggestedSentence(BaseModel):
    """A sentence that cites nothing and seems to need a citation.\f

    Example:
        >>> SuggestedSentence(file="a.tex", line=7, sentence="Trees help.", probability=0.6).line
        7
    """

    file: str
    line: int = Field(description="Line of the file; of `.docx` the paragraph, of `.pdf` the page.")
    sentence: str = Field(description="Its words, without the commands of LaTeX or the signs of Markdown.")
    start: int | None = Field(
        default=None,
        description="Where `text` has its first character, in Unicode characters from 0. Null: that is not known.",
    )
    end: int | None = Field(default=None, description="Where `text` has the character behind its last one.")
    probability: float = Field(
        description="That a sentence like this one cites, in the papers that the classifier was trained on."
    )


class DraftText(BaseModel):
    """The text of a draft.\f

    Example:
        >>> DraftText(file="paper.docx", form="docx", gaps=1, text="We parse trees [CIT].").warnings
        []
    """

    file: str = Field(description="Name of the main file.")
    form: Kind
    gaps: int
    text: str = Field(
        description="Of text files as they are, the main file first; of .docx and .pdf the title, headings and "
        "paragraphs, with gaps as `[CIT]` and without the list of references."
    )
    cited: list[CitedOut] = Field(
        default=[],
        description="What the draft cites, as in `/v1/draft`: ids to `exclude` from recommendations for its text.",
    )
    usually_cited_together: list[TogetherOut] = []
    suggestions: list[SuggestedSentence] = Field(
        default=[], description="Sentences that seem to need a citation, in the order of the text."
    )
    suggestion_quality: SuggestionQuality | None = Field(
        default=None,
        description="How often suggestions are right; null without `suggest`, or where it is not known.",
    )
    warnings: list[str] = Field(default=[], description="A sentence for each part that was left out.")
