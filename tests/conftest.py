"""What all tests share."""

import pytest


@pytest.fixture(autouse=True)
def _own_caches(tmp_path_factory, monkeypatch):
    """No test knows what another one, or the user, has checked before."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path_factory.mktemp("caches")))
