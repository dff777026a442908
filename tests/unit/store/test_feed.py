from __future__ import annotations

from pathlib import Path

from libraries import quick_library, write

SHOP = '''class Basket:
    """What a customer takes along."""

    def total(self):
        """The sum of all prices."""
        return sum(item.price for item in self.items)
'''


def test_code_is_found_by_the_name_of_its_language(tmp_path: Path) -> None:
    folder = write(tmp_path / "code", shop_py=SHOP, notes_txt="The basket is on the shelf.")
    with quick_library(tmp_path / "library") as library:
        library.add(folder)
        assert [hit.filename for hit in library.search("python", mode="lexical").hits] == ["shop.py"]


def test_what_the_chunker_says_of_a_chunk_is_found_by_its_words(tmp_path: Path) -> None:
    rows = "\n".join(f"{number},{number * 7}" for number in range(400))
    folder = write(tmp_path / "tables", prices_csv=f"article,wholesale\n{rows}\n")
    with quick_library(tmp_path / "library", chunker="rules") as library:
        library.add(folder)
        found = library.search("wholesale", mode="lexical", limit=50, per_document=50).hits
        assert len(found) > 1
        assert sum("wholesale" in hit.text for hit in found) == 1
