"""Request and lines of the answer of ``/v1/draft``.

The API's documentation shows of each docstring what stands before the form feed (``\\f``).
"""

from typing import Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, StrictBool, StringConstraints, model_validator

from cocite.drafts.draft import Kind
from cocite.drafts.limits import MAX_FILES, MAX_GAPS
from cocite.drafts.style_names import DEFAULT_STYLE
from cocite_serve.http.option_fields import RecommendOptions
from cocite_serve.http.query_fields import (
    GAP_EXAMPLE,
    KEY_FORMS,
    STYLE_NAMES,
    KeyForm,
    StyleName,
    Text,
    Whole,
    Year,
)
from cocite_serve.http.schemas import PaperOut, Problem, RecommendResponse, SuggestionQuality

FileName = Annotated[str, StringConstraints(min_length=1, max_length=300)]
MAX_CHOSEN = 20
"""Papers that an author may choose for one gap."""


class DraftFile(BaseModel):
    """A file of a draft: its text, or the bytes of a binary one.\f

    Example:
        >>> DraftFile(name="paper.md", text="We parse trees [@?].").base64 is None
        True
    """

    model_config = ConfigDict(extra="forbid")

    name: FileName = Field(
        description="Path within the project, with `/`. Its end says what it is: `.tex`, `.md`, `.txt`, `.docx`, "
        "`.pdf`, `.bib`, or `.zip` for a whole project."
    )
    text: str | None = Field(default=None, description="The text of a text file.")
    base64: str | None = Field(default=None, description="The bytes of any file, in base64.")

    @model_validator(mode="after")
    def _one_content(self) -> Self:
        if (self.text is None) == (self.base64 is None):
            raise ValueError("give either text or base64")
        return self


class DraftRequest(RecommendOptions):
    """A draft, whose gaps are answered.\f

    Example:
        >>> request = DraftRequest(files=[{"name": "paper.txt", "text": "We parse trees [CIT]."}], top_k=5)
        >>> request.files[0].name, request.top_k
        ('paper.txt', 5)
    """

    model_config = ConfigDict(
        json_schema_extra={
            "examples": [
                {"files": [{"name": "draft.txt", "text": GAP_EXAMPLE}], "top_k": 3},
                {
                    "files": [
                        {
                            "name": "main.tex",
                            "text": "\\documentclass{article}\n\\title{Neural translation}\n\\begin{document}\n"
                            "Self-attention replaced recurrence \\cite{vaswani}.\n"
                            "Rare words are split into subword units \\cite{?}.\n\\end{document}\n",
                        }
                    ],
                    "bib": "@misc{vaswani, title = {Attention Is All You Need}, year = 2017}",
                    "top_k": 3,
                },
            ]
        },
    )

    files: list[DraftFile] = Field(
        min_length=1,
        max_length=MAX_FILES,
        description="One draft, or the files of one LaTeX project, with its `.bib` files. A `.zip` comes alone.",
    )
    main: str = Field(
        default="",
        max_length=300,
        description="Path of the main file. Default: the only draft, or the only LaTeX file with `\\documentclass`.",
    )
    bib: str = Field(default="", description="Text of a `.bib` file, beside those that the draft names.")
    together: Whole = Field(
        default=5, ge=0, le=100, description="Papers usually cited together with what the draft cites."
    )
    suggest: Whole = Field(
        default=0,
        ge=0,
        le=100,
        description="Sentences that cite nothing and seem to need a citation, at most, each with papers as a gap has "
        "them. Only a model with a classifier of such sentences allows more than 0.",
    )
    year: Year | None = Field(
        default=None, description="Year of the draft: as in `/v1/recommend`. Default: that of its `\\date`."
    )
    authors: list[Text] = Field(
        default=[],
        description="Authors of the draft, as the corpus writes names. Default: those that it names.",
    )
    venue: Text = Field(default="", description="Venue the draft is written for.")
    cite_keys: KeyForm = Field(default="cocite", description=f"Form of new keys: {KEY_FORMS}")
    like_cited: StrictBool = Field(
        default=False,
        description="Take what the draft cites for papers of `like`, too: the first papers of its text, as many as "
        "`like` has room for.",
    )
    finished: StrictBool = Field(
        default=False,
        description="Whether the last line brings the draft with the best paper of each gap put in, as a difference "
        "and as files. Not of a `.pdf`.",
    )
    style: StyleName = Field(
        default=DEFAULT_STYLE,
        description=f"Style of the references that a finished `.docx` gets: {STYLE_NAMES}",
    )


class GapChoice(BaseModel):
    """The papers that are to be cited in a gap.\f

    Example:
        >>> GapChoice(gap=2, papers=["P02-1040"]).papers
        ['P02-1040']
    """

    model_config = ConfigDict(extra="forbid")

    gap: Whole = Field(ge=1, le=MAX_GAPS, description="Number of the gap in the draft, from 1.")
    papers: list[Text] = Field(
        min_length=1, max_length=MAX_CHOSEN, description="Ids of papers, in the order of the citation."
    )


class DraftFinishRequest(BaseModel):
    """A draft, and the papers that its author chose for its gaps.\f

    Example:
        >>> files = [{"name": "paper.txt", "text": "We parse trees [CIT]."}]
        >>> DraftFinishRequest(files=files, chosen=[{"gap": 1, "papers": ["P02-1040"]}]).style
        'harvard-cite-them-right'
    """

    model_config = ConfigDict(
        extra="forbid",
        json_schema_extra={
            "examples": [{"files": [{"name": "draft.txt", "text": GAP_EXAMPLE}], "chosen": []}],
        },
    )

    files: list[DraftFile] = Field(
        min_length=1, max_length=MAX_FILES, description="As in `/v1/draft`, and so is `main`. Not a `.pdf`."
    )
    main: str = Field(default="", max_length=300)
    bib: str = Field(
        default="",
        description="Text of a `.bib` file, beside those that the draft names: its keys are used, and no new entry is "
        "made of what it holds.",
    )
    chosen: list[GapChoice] = Field(
        description="The papers for each gap, which stands once; a gap without papers stays as it is."
    )
    cite_keys: KeyForm = Field(default="cocite", description=f"Form of new keys: {KEY_FORMS}")
    style: StyleName = Field(
        default=DEFAULT_STYLE,
        description=f"Style of the references that a `.docx` gets: {STYLE_NAMES}",
    )


class CitedOut(BaseModel):
    """A key that the draft cites.\f

    Example:
        >>> CitedOut(key="lee99").id is None
        True
    """

    key: str = Field(
        description="As in the draft; of a paper found in a printed list of references, its id in the corpus."
    )
    title: str = Field(default="", description="In the draft's bibliography; empty where that lacks the key.")
    id: str | None = Field(
        default=None,
        description="The corpus' paper, never recommended to this draft; null: it was not found.",
    )


class TogetherOut(PaperOut):
    """A paper that others cite together with what the draft cites, and that the draft lacks.\f

    Example:
        >>> TogetherOut(id="P02-1040", title="BLEU", papers=12).papers
        12
    """

    papers: int = Field(description="Papers that cite it and at least one paper that the draft cites.")
    in_library: bool | None = Field(
        default=None, description="Whether it is one of `have` of the request; null where that names none."
    )


class DraftHead(BaseModel):
    """The first line: what was read.\f

    Example:
        >>> DraftHead(file="paper.txt", form="text", gaps=2, model_version="", index_version="000001").cited
        []
    """

    kind: Literal["draft"] = "draft"
    file: str = Field(description="Name of the main file.")
    form: Kind
    title: str = ""
    authors: list[str] = []
    year: int | None = None
    gaps: int = Field(description="How many lines of gaps follow.")
    suggestions: int = Field(default=0, description="How many lines of suggestions follow.")
    suggestion_quality: SuggestionQuality | None = Field(
        default=None,
        description="How often suggestions are right; null without `suggest`, or where it is not known.",
    )
    cited: list[CitedOut] = Field(default=[], description="Every key, in the order of the text.")
    warnings: list[str] = Field(default=[], description="A sentence for each part that was left out.")
    model_version: str
    index_version: str
    request_id: str = ""


class PapersLine(BaseModel):
    """A place of the draft, and the papers for it.\f

    Example:
        >>> PapersLine(kind="gap", file="a.tex", line=7, sentence="Trees [CIT].", status=200).cite
        []
    """

    kind: str
    file: str
    line: int = Field(description="Line of the file; of `.docx` the paragraph, of `.pdf` the page.")
    sentence: str = Field(description="With gaps as `[CIT]` and citations as `[OTHERCIT]`.")
    note: str = Field(default="", description="As the answer's, or why no paper is recommended.")
    status: int = Field(description="The status that it would be answered alone.")
    answer: RecommendResponse | None = Field(default=None, description="With status 200, as `/v1/recommend`.")
    cite: list[str] = Field(
        default=[],
        description="A key for each paper of the answer: the draft's own where its bibliography has the paper, else a "
        "new one, the same for all gaps.",
    )
    problem: Problem | None = Field(default=None, description="With any other status.")
    retry_after: int | None = Field(default=None, description="Seconds after which to try again.")


class GapLine(PapersLine):
    """The answer to one gap.\f

    Example:
        >>> GapLine(gap=1, file="a.tex", line=7, sentence="Trees [CIT].", status=200).cite
        []
    """

    kind: Literal["gap"] = "gap"
    gap: int = Field(description="Number of the gap in the draft, from 1.")


class SuggestionLine(PapersLine):
    """A sentence that cites nothing and seems to need a citation, and the papers for it.\f

    Example:
        >>> SuggestionLine(suggestion=1, probability=0.6, file="a.tex", line=7, sentence="Trees.", status=200).cite
        []
    """

    kind: Literal["suggestion"] = "suggestion"
    suggestion: int = Field(description="Number of the suggestion, from 1, in the order of the text.")
    probability: float = Field(
        description="That a sentence like this one cites, in the papers that the classifier was trained on."
    )


class Finished(BaseModel):
    """A draft in whose gaps papers are cited.\f

    Example:
        >>> Finished(diff="", bib="", bib_name="a-cited.bib", files=[], unfilled=[2]).unfilled
        [2]
    """

    diff: str = Field(description="A unified diff of the files that change; of `.docx` by paragraphs.")
    bib: str = Field(
        description="The new entries in BibTeX, in `/v1/draft` with the keys of `cite`; empty where the draft's own "
        "have all, and of `.docx`, whose references stand in its list."
    )
    bib_name: str = Field(
        description="Name of a file for them, beside the main file; the draft names it now where it names others."
    )
    files: list[DraftFile] = Field(
        description="The files that change, with their new content: text where it was sent as text, else base64. Of a "
        "`.zip` the archive, with the new entries."
    )
    unfilled: list[int] = Field(description="Numbers of the gaps that stay.")


class DraftEnd(BaseModel):
    """The last line: what is usually cited together, a summary, and on request the finished draft.\f

    Example:
        >>> DraftEnd(answered=3, refused=1, empty=0).usually_cited_together
        []
    """

    kind: Literal["end"] = "end"
    usually_cited_together: list[TogetherOut] = []
    answered: int = Field(description="Gaps and suggestions with papers.")
    empty: int = Field(description="Those for which no paper was found.")
    refused: int = Field(description="Those with a `problem`.")
    finished: Finished | None = Field(default=None, description="Where the request has `finished`.")
    problem: Problem | None = Field(default=None, description="Why it has none.")


DraftLine = Annotated[DraftHead | GapLine | SuggestionLine | DraftEnd, Field(discriminator="kind")]
"""A line of the answer."""
