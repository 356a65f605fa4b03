import pytest
from agents_kit import Trial, need_box, path_without_bubblewrap
from blind_origin import small

from evalrunner.sandbox.bubblewrap import probe


@pytest.fixture
def landed_issue(tmp_path):
    return small(tmp_path)


@pytest.fixture
def trial(tmp_path, monkeypatch):
    for name in ("EVALRUNNER_CLONING_TOKEN", "EVALRUNNER_LISTING_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    folder = tmp_path / "run"
    folder.mkdir()
    return Trial(folder)


@pytest.fixture
def boxed():
    need_box()


@pytest.fixture
def weak(tmp_path, monkeypatch):
    monkeypatch.setenv("PATH", path_without_bubblewrap(tmp_path))
    probe.cache_clear()
    yield
    probe.cache_clear()
