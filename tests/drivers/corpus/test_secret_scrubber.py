"""What the detector finds is replaced everywhere, and what is no secret stays."""

from __future__ import annotations

import builtins
import json
from typing import Any

import pytest

from support.corpora import made_triple
from support.late_imports import needs
from verdigris.core.errors import ToolMissing
from verdigris.drivers.corpus.contents import CorpusContents
from verdigris.drivers.corpus.secret_scrubber import SecretScrubber, scrub_corpus
from verdigris.drivers.corpus.session_source import Spoken, Trajectory
from verdigris.drivers.corpus.triple import Triple
from verdigris.models.protocol import Message, ToolCall

pytestmark = needs("detect_secrets", "the extra verdigris[corpus] is not installed")
GITHUB = "ghp_" + "a1B2" * 9
AWS = "AKIA" + "QWERTY7UIOPASDFG"
SHA = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855"


def patch_of(path: str, *lines: str) -> str:
    body = "".join(f"+{line}\n" for line in lines)
    head = f"diff --git a/{path} b/{path}\nindex {SHA[:40]}..{SHA[:40]} 100644\n--- a/{path}\n+++ b/{path}\n"
    return f"{head}@@ -0,0 +1,{len(lines)} @@\n{body}"


def scrubbed(triple: Triple) -> tuple[Triple, set[tuple[str, str, int]]]:
    scrubber = SecretScrubber()
    [found] = scrub_corpus(CorpusContents((triple,)), scrubber).triples
    return found, {(one.kind, one.file, one.count) for one in scrubber.report}


def test_a_token_goes_whole_and_wherever_else_it_stands() -> None:
    patch = patch_of("src/api.py", f'TOKEN = "{GITHUB}"')
    found, report = scrubbed(made_triple(patch=patch, statement=f"Use {GITHUB}, please."))
    assert '+TOKEN = "[scrubbed: ' in found.patch
    assert found.statement.startswith("Use [scrubbed: ")
    assert GITHUB[6:] not in f"{found}"
    assert {file for _, file, _ in report} == {"src/api.py", "statement"}
    assert GITHUB not in f"{report}"
    assert found.scrubbed


@pytest.mark.parametrize(
    "line",
    [
        f'KEY = "{AWS}"',
        'password = "hunter22-x!"',
        "url = 'https://ada:s3cr3t-pw@example.org/x'",
        'token = "xoxb-123456789012-123456789012-abcdefghijklmnopqrstuvwx"',
    ],
)
def test_credentials_of_several_kinds_are_found(line: str) -> None:
    secret = next(
        word for word in (AWS, "hunter22-x!", "s3cr3t-pw", "abcdefghijklmnopqrstuvwx") if word in line
    )
    found, report = scrubbed(made_triple(patch=patch_of("a.py", line)))
    assert secret not in found.patch
    assert len(report) >= 1


def test_a_private_key_goes_as_a_block() -> None:
    lines = (
        "-----BEGIN RSA PRIVATE KEY-----",
        "MIIEowIBAAKCAQEAx7",
        "q9Zk3vLm0pQ8",
        "-----END RSA PRIVATE KEY-----",
    )
    found, report = scrubbed(made_triple(patch=patch_of("key.pem", *lines, "plain = True")))
    assert "MIIEowIBAAKCAQEAx7" not in found.patch
    assert "q9Zk3vLm0pQ8" not in found.patch
    assert "+plain = True" in found.patch
    assert ("Private Key", "key.pem", 1) in report


def test_hashes_and_plain_code_stay_and_nothing_is_marked() -> None:
    patch = patch_of("a.py", f'assert digest("") == "{SHA}"', "def sub(a, b):", "    return a - b")
    triple = made_triple(patch=patch)
    found, report = scrubbed(triple)
    assert found == triple
    assert report == set()


def test_a_secret_in_a_tools_arguments_is_seen_through_their_escapes() -> None:
    written = json.dumps({"path": "a.py", "edits": [{"text": 'x = 1\npassword = "pa55word-99"\n'}]})
    call = Message("assistant", "", (ToolCall("c1", "create_file", written),))
    told = Trajectory("s-1", "s", 1, 1, "", (), (), (Spoken(call),), "", (made_triple(),))
    scrubber = SecretScrubber()
    [found] = scrub_corpus(CorpusContents((made_triple(),), (told,)), scrubber).trajectories
    [argument] = found.spoken[0].message.calls
    assert "pa55word-99" not in argument.arguments
    assert json.loads(argument.arguments)["path"] == "a.py"
    assert [(one.kind, one.file) for one in scrubber.report] == [("Secret Keyword", "session s")]


def test_a_patch_keeps_its_lines_and_signs() -> None:
    patch = patch_of("a.py", f'TOKEN = "{GITHUB}"', "x = 1")
    found, _ = scrubbed(made_triple(patch=patch))
    assert [line[:1] for line in found.patch.splitlines()] == [line[:1] for line in patch.splitlines()]


def test_bytes_that_are_no_text_are_written_out() -> None:
    [found] = scrub_corpus(CorpusContents((made_triple(statement="caf\udce9"),)), None).triples
    assert found.statement == "caf\\udce9"


def test_without_the_library_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    genuine = builtins.__import__

    def absent(name: str, *more: Any) -> Any:
        if name.startswith("detect_secrets"):
            raise ImportError(name)
        return genuine(name, *more)

    monkeypatch.setattr(builtins, "__import__", absent)
    with pytest.raises(ToolMissing) as refused:
        SecretScrubber()
    assert "verdigris[corpus]" in (refused.value.hint or "")
