"""Connections to models, without a server."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from footnotes.answer.models import connect
from provider import ScriptedProvider, says

KEY = "sk-quaggafish-0123456789"


ANSWER = "Either side may end the contract with three months of notice [1]."


@pytest.fixture
def provider() -> Iterator[ScriptedProvider]:
    with ScriptedProvider(says(ANSWER)) as running:
        running.key = KEY
        yield running


def test_a_name_that_turns_inward_is_not_dialled(provider: ScriptedProvider) -> None:
    """The address that is dialled is the one that was looked at: checked again when the connection is made."""
    from footnotes.errors import ProviderRefused
    from footnotes.settings import load

    connection = connect.Connection("compatible", "small-chat", provider.base_url, key=KEY, public=True)
    endpoint = connect._endpoint(connection, load(None), quoted=True)
    with pytest.raises(ProviderRefused, match="in a private network"):
        connect.Remote(endpoint).get("models")
    assert provider.requests == []
