from __future__ import annotations

import pytest

from support.code_sessions import HONEST, playing, work
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.export import ExportOptions, gather


@pytest.fixture(scope="module")
def talked(tmp_path_factory: pytest.TempPathFactory) -> CorpusContents:
    """What an honest session of a scripted model left."""
    home = tmp_path_factory.mktemp("talked")
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
        patch.setenv("HOME", str(home))
        with playing(home, HONEST) as played:
            work(played)
            return gather(played.repo.root, ExportOptions("atif", home / "out"))
