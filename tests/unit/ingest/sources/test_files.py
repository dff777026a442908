"""Sources on this machine keep the promises a folder has."""

from __future__ import annotations

from pathlib import Path

import pytest

import source_files as files
from footnotes.testing.source_suite import SourcePlace, SourceSuite

PLACES = [
    files.ObsidianPlace,
    files.FolderPlace,
    files.NotionPlace,
    files.SlackPlace,
    files.ConfluencePlace,
    files.TakeoutPlace,
    files.GitHubFilePlace,
    files.MboxPlace,
    files.MaildirPlace,
    files.SqlPlace,
    files.ZoteroPlace,
]


class TestFiles(SourceSuite):
    @pytest.fixture(params=PLACES, ids=lambda place: place.scheme)
    def place(self, request: pytest.FixtureRequest, tmp_path: Path) -> SourcePlace:
        made: SourcePlace = request.param(tmp_path)
        return made
