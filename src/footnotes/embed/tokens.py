"""Text to token ids as in BERT: lower case, WordPiece, [CLS] … [SEP], cut at the model's limit."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from tokenizers import Tokenizer

MAX_CHARACTERS = 16_384
"""No text needs more characters to fill 256 tokens; the rest is cut before tokenising."""


class WordPieceTokenizer:
    """Token ids of texts, by a `vocab.txt` or a `tokenizer.json`."""

    def __init__(self, path: Path, *, max_tokens: int, characters: int = MAX_CHARACTERS) -> None:
        self._characters = characters
        self._path = path
        self._tokenizer = _load(path)
        self._tokenizer.enable_truncation(max_length=max_tokens)

    def __call__(self, texts: Sequence[str]) -> list[list[int]]:
        encodings = self._tokenizer.encode_batch_fast([_clean(text[: self._characters]) for text in texts])
        return [encoding.ids for encoding in encodings]

    def count(self, text: str) -> int:
        """Count the tokens of a whole text, including [CLS] and [SEP]."""
        return len(self._uncut.encode(_clean(text)).ids)

    @cached_property
    def _uncut(self) -> Tokenizer:
        tokenizer = _load(self._path)
        tokenizer.no_truncation()
        return tokenizer


def _load(path: Path) -> Tokenizer:
    tokenizer = _from_json(path) if path.suffix == ".json" else _from_vocabulary(path)
    tokenizer.no_padding()
    return tokenizer


def _clean(text: str) -> str:
    """Return the text without lone surrogates, which every UTF-8 library rejects."""
    return text.encode("utf-8", "replace").decode("utf-8")


def _from_json(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer

    return Tokenizer.from_file(str(path))


def _from_vocabulary(path: Path) -> Tokenizer:
    from tokenizers import Tokenizer, models, normalizers, pre_tokenizers, processors

    model = models.WordPiece.from_file(str(path), unk_token="[UNK]")  # noqa: S106 (a token of text, not a secret)
    tokenizer = Tokenizer(model)
    tokenizer.normalizer = normalizers.BertNormalizer(lowercase=True)
    tokenizer.pre_tokenizer = pre_tokenizers.BertPreTokenizer()
    ends = [(token, tokenizer.token_to_id(token) or 0) for token in ("[SEP]", "[CLS]")]
    tokenizer.post_processor = processors.BertProcessing(ends[0], ends[1])
    return tokenizer
