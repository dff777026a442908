"""Request bodies and the shape of errors, as shown in /openapi.json."""

from __future__ import annotations

from typing import Annotated, Any, Literal

from pydantic import BaseModel, ConfigDict, Field

Name = Annotated[str, Field(min_length=1, max_length=200)]
Metadata = dict[str, Any]
Filter = dict[str, Any] | Annotated[list[str], Field(fail_fast=True)] | str
SearchMode = Literal["hybrid", "lexical", "dense"]
Weights = Annotated[list[Annotated[float, Field(ge=0, le=1_000)]], Field(min_length=2, max_length=2, fail_fast=True)]
"""Weights of the lexical and the dense leg."""


class Body(BaseModel):
    """A strict request body: unknown fields are errors, and `"5"` is not a number."""

    model_config = ConfigDict(extra="forbid", strict=True)


class ErrorDetail(BaseModel):
    model_config = ConfigDict(extra="allow")

    code: str = Field(examples=["not_found"])
    message: str = Field(examples=["there is no document 'd0'"])
    remedy: str = Field(examples=["List the documents to see the ids there are."])
    request_id: str = Field(examples=["5f2b1c9e0a7d4e83"])


class ErrorBody(BaseModel):
    """Every error has this shape."""

    error: ErrorDetail


class FlatError(BaseModel):
    """Every error of /api has this shape."""

    model_config = ConfigDict(extra="allow")

    error: str = Field(examples=["all 10,000 answers of this month are used"])
    code: str = Field(examples=["quota_exceeded"])
    remedy: str = Field(examples=["Wait for the next month."])
    request_id: str = Field(examples=["5f2b1c9e0a7d4e83"])


class TextDocument(Body):
    """A document given as text, or an address to fetch: exactly one of `text` and `url`."""

    text: str | None = Field(None, examples=["Either side may end the contract with three months of notice."])
    filename: str | None = Field(None, max_length=1000, examples=["contract.md"])
    url: str | None = Field(None, max_length=2000)
    collection: Name | None = None
    metadata: Metadata | None = Field(None, examples=[{"year": 2026}])
    source: str | None = Field(None, max_length=2000, description="Names the document: the same again replaces it.")


class ManyText(Body):
    """One of many texts."""

    text: str = Field(min_length=1, examples=["Either side may end the contract with three months of notice."])
    filename: Annotated[str, Field(min_length=1, max_length=1000)] | None = Field(None, examples=["contract.md"])
    metadata: Metadata | None = Field(None, examples=[{"year": 2026}])
    source: Annotated[str, Field(min_length=1, max_length=2000)] | None = Field(
        None, description="Names the document: the same again replaces it."
    )


class TextsBody(Body):
    """Many texts for one collection."""

    texts: list[ManyText] = Field(min_length=1, max_length=1_000)
    collection: Name | None = None


class SearchBody(Body):
    query: str = Field(examples=["How long is the notice period?"])
    limit: int | None = Field(None, ge=1, le=100, examples=[5])
    mode: SearchMode | None = None
    where: Filter | None = Field(None, examples=[{"year": {"$gte": 2020}}])
    collection: Name | None = None
    per_document: int | None = Field(None, ge=1, le=100)
    fusion: Literal["adaptive", "alpha", "rrf"] | None = None
    alpha: float | None = Field(None, ge=0, le=1)
    rrf_k: int | None = Field(None, ge=1, le=10_000)
    weights: Weights | None = Field(None, description="Of the lexical and the dense leg in rrf.")
    missing_rank: int | None = Field(None, ge=0, le=1_000_000, description="The rank of a hit missing in a leg.")
    expand: list[Literal["synonyms"]] | None = Field(None, max_length=1)
    reranker: str | None = Field(None, max_length=200)

    def options(self) -> dict[str, Any]:
        """Return the keywords of `Library.search`."""
        return dict(self.__dict__)


class DocumentChange(Body):
    filename: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(None, examples=["handbook-2026.md"])
    collection: Name | None = None
    tags: list[Annotated[str, Field(min_length=1, max_length=100)]] | None = Field(
        None, max_length=50, description="Stored in the metadata as `tags`; replaces earlier ones."
    )
    reindex: bool = Field(False, description="Read, cut and embed it again.")


class TurnBody(Body):
    role: Literal["user", "assistant"]
    text: str


class AskBody(Body):
    question: str = Field(examples=["How long is the notice period?"])
    where: Filter | None = None
    collection: Name | None = None
    mode: SearchMode | None = None
    passages: int | None = Field(None, ge=1, le=50)
    history: list[TurnBody] = Field(default_factory=list, max_length=100)
    deep: bool = False
    model: str | None = Field(None, max_length=64, description="The id of a connected model, or `extractive`.")
    strict: bool | None = None
    temperature: float | None = Field(None, ge=0, le=2)
    max_tokens: int | None = Field(None, ge=1, le=100_000)

    def options(self) -> dict[str, Any]:
        """Return the keywords of `Library.ask`."""
        fields = self.model_dump(exclude={"question", "history"})
        return {**fields, "history": [(turn.role, turn.text) for turn in self.history]}


class TurnAskBody(Body):
    question: str = Field(min_length=1, max_length=20_000, examples=["How long is the notice period?"])
    where: Filter | None = None
    collection: Name | None = None
    mode: SearchMode | None = None
    passages: int | None = Field(None, ge=1, le=50)
    deep: bool = False
    model: str | None = Field(None, max_length=64, description="The id of a connected model, or `extractive`.")
    replaces: int | None = Field(None, ge=1, description="The number of the turn to replace.")

    def options(self) -> dict[str, Any]:
        """Return the keywords of `Library.ask`."""
        return {name: getattr(self, name) for name in ("where", "collection", "mode", "passages", "deep", "model")}

    def saved_options(self) -> dict[str, Any]:
        """Return the options that are stored with the question, to ask it again."""
        return {name: value for name, value in self.options().items() if value}


class NewConversationBody(TurnAskBody):
    id: str | None = Field(
        None, pattern="^[0-9a-f]{16,32}$", description="The id of the document; the server chooses one if omitted."
    )


class TitleBody(Body):
    title: str = Field(min_length=1, max_length=200, pattern=r"\S", examples=["Notice periods"])


class RatingBody(Body):
    rating: Literal["up", "down"] | None = Field(None, examples=["up"])
    reason: str = Field("", max_length=2_000, examples=["It names the clause."])


class CollectionBody(Body):
    chunker: Name | None = Field(None, examples=["section"])
    chunker_options: dict[str, Any] | None = None
    system_prompt: str | None = Field(None, max_length=20_000, examples=["Answer in one sentence."])


class PasswordBody(Body):
    password: str = Field(min_length=1, max_length=200, pattern=r"^[^\x00]+$", examples=["swordfish"])


class ReindexBody(Body):
    collection: Name | None = Field(None, examples=["staff"])
    chunker: Name | None = Field(None, examples=["section"])
    chunker_options: dict[str, Any] | None = None
    embedder: Name | None = None
    outdated: bool = False
    keep: bool = False


class KeyBody(Body):
    name: str = Field("", max_length=200, examples=["phone"])
    scopes: list[Literal["read", "write", "admin"]] = Field(["read"], min_length=1, max_length=3, examples=[["read"]])
    days: float | None = Field(
        None, gt=0, le=36_500, description="Days it is valid; nothing means without end.", examples=[90]
    )
