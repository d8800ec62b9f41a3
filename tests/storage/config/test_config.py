from __future__ import annotations

import hashlib
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from verdigris.core.errors import ConfigError, NotConfigured
from verdigris.core.settings import JUnit, ModelSettings, Settings, Stack, keys_of
from verdigris.storage.config import decode, load, render
from verdigris.storage.config.drivers import built_in_sections
from verdigris.storage.config.keys import READERS

FULL = """\
stacks:
  - root: ./services/a/
    language: python
    runner: pytest
    python: .venv/bin/python
    test: [checks/**]
    source: [lib]
    generated: ["*_pb2.py"]
    suite: [tests/unit, "-m", "not slow"]
    test_command: "-p no:cacheprovider -o 'a=b c'"
    test_command_for: {"e2e/**": "make e2e REPORTS={report}", "tests/a.py::b": [sh, -c, "x {args}"]}
    check: ruff check .
    verify: make check
    format: ruff format
red: assertion
claims: strict
strikes: 3
spec: [specs/]
oracle: {include: [data/*.json], exclude: ["docs/**"]}
room:
  {timeout: 30, test_timeout: 9, env: [DATABASE_URL, "MODE=test"], network: host, git: true,
   plugins: [xdist, no:randomly]}
liveness: {enabled: false, seconds: 9}
concerns: block
uncovered: block
agents: [claude]
"""

JUNIT = "stacks:\n - runner: junit\n   junit:\n"
SOME = "stacks:\n - test_command_for:\n"


def write(root: Path, text: str | bytes) -> Path:
    (root / "tdd.yaml").write_bytes(text if isinstance(text, bytes) else text.encode())
    return root


def test_every_key(tmp_path: Path) -> None:
    (tmp_path / "services/a").mkdir(parents=True)
    loaded = load(write(tmp_path, FULL))
    stack = Stack(
        root="services/a",
        python=".venv/bin/python",
        test=("checks/**",),
        source=("lib",),
        generated=("*_pb2.py",),
        suite=("tests/unit", "-m not slow"),
        test_command=("-p", "no:cacheprovider", "-o", "a=b c"),
        test_command_for=(
            ("e2e/**", ("make", "e2e", "REPORTS={report}")),
            ("tests/a.py::b", ("sh", "-c", "x {args}")),
        ),
        check="ruff check .",
        verify="make check",
        format="ruff format",
    )
    assert loaded.settings == Settings(
        stacks=(stack,),
        red="assertion",
        claims="strict",
        strikes=3,
        spec=("specs/",),
        oracle_include=("data/*.json",),
        oracle_exclude=("docs/**",),
        timeout=30,
        test_timeout=9,
        room_env=("DATABASE_URL", "MODE=test"),
        room_network="host",
        room_plugins=("xdist", "no:randomly"),
        room_git=True,
        concerns="block",
        liveness=False,
        liveness_seconds=9,
        uncovered="block",
        agents=("claude",),
    )
    assert loaded.digest == hashlib.sha256(FULL.encode()).hexdigest()


@pytest.mark.parametrize(
    "text", ["", "# nothing\n", "---\n", "{}", "stacks:\n  - {}\n", "\ufeffred: behaviour"]
)
def test_what_is_not_said_is_default(tmp_path: Path, text: str) -> None:
    assert load(write(tmp_path, text)).settings == Settings()


def test_a_missing_file_says_init(tmp_path: Path) -> None:
    with pytest.raises(NotConfigured) as caught:
        load(tmp_path)
    assert "tdd init" in (caught.value.hint or "")


def test_a_shell_may_be_given_more_to_write(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    repo = tmp_path / "home/repo"
    (repo / ".git/tdd").mkdir(parents=True)
    monkeypatch.setenv("HOME", str(tmp_path / "home"))
    loaded = load(write(repo, "sandbox: {write: [~/.config/tool, /opt/data, ~/repo/.git/hooks]}\n"))
    assert loaded.settings.sandbox_write == ("~/.config/tool", "/opt/data", "~/repo/.git/hooks")
    for path, what in {
        str(tmp_path): "holds",
        "~/repo": "holds",
        "~/repo/.git": "holds",
        "~/repo/.git/tdd/hook": "own folder",
    }.items():
        with pytest.raises(ConfigError, match=what):
            load(write(repo, f"sandbox: {{write: [{path}]}}\n"))


def test_a_folder_in_the_files_place(tmp_path: Path) -> None:
    (tmp_path / "tdd.yaml").mkdir()
    with pytest.raises(ConfigError):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "parts"),
    [
        ("red: behaviour\nstrike: 3\n", ["tdd.yaml:2:", "unknown key `strike`", "did you mean `strikes`?"]),
        ("zzz: 3\n", ["tdd.yaml:1:", "unknown key `zzz`", "`stacks`"]),
        ("stacks:\n  - root: .\n    pyton: x\n", ["tdd.yaml:3:", "stacks[0]", "`pyton`", "`python`?"]),
        ("room:\n  timeut: 3\n", ["tdd.yaml:2:", "room", "`timeut`", "`timeout`?"]),
        ("oracle:\n  includes: [a]\n", ["tdd.yaml:2:", "oracle", "`include`?"]),
        ("strikes: many\n", ["tdd.yaml:1:", "strikes", "expected `int`, got `str`"]),
        ("strikes: true\n", ["tdd.yaml:1:", "strikes", "expected `int`, got `bool`"]),
        ("\nstrikes: 0\n", ["tdd.yaml:2:", "strikes", ">= 1"]),
        ("room: {timeout: 0}\n", ["tdd.yaml:1:", "room.timeout", ">= 1"]),
        ("red: maybe\n", ["tdd.yaml:1:", "red", "behaviour", "assertion", "'maybe'"]),
        ("claims: on\n", ["tdd.yaml:1:", "claims", "implied", "strict"]),
        ("stacks: 3\n", ["tdd.yaml:1:", "stacks", "expected `array`"]),
        ("stacks: []\n", ["tdd.yaml:1:", "stacks", "length >= 1"]),
        ("stacks:\n - python: 3.12\n", ["tdd.yaml:2:", "stacks[0].python", "got `float`", "quote"]),
        ("stacks:\n - test: tests\n", ["tdd.yaml:2:", "stacks[0].test", "expected `array`, got `str`"]),
        ("stacks:\n - test: [a, 3]\n", ["tdd.yaml:2:", "stacks[0].test[1]", "expected `str`"]),
        ("stacks:\n - test_command: 3\n", ["tdd.yaml:2:", "stacks[0].test_command"]),
        ('stacks:\n - test_command: "\'open"\n', ["tdd.yaml:2:", "stacks[0].test_command", "quotation"]),
        ("- a\n- b\n", ["tdd.yaml:1:", "mapping"]),
        ("just text\n", ["tdd.yaml:1:", "mapping"]),
        ("red: [unclosed\n", ["tdd.yaml:2:"]),
        ("stacks:\n\t- root: .\n", ["tdd.yaml:2:", "tab"]),
        ("red: behaviour\nred: assertion\n", ["tdd.yaml:2:", "`red`", "twice", "line 1"]),
        ("stacks:\n - root: .\n   root: .\n", ["tdd.yaml:3:", "`root`", "twice"]),
        ("red: *nothing\n", ["tdd.yaml:1:", "alias"]),
        ("red: !!python/object:os.system x\n", ["tdd.yaml:1:"]),
        ("a: 1\n---\nb: 2\n", ["tdd.yaml:2:", "document"]),
        ("3: x\n", ["tdd.yaml:1:", "unknown key `3`"]),
        ("[a]: x\n", ["tdd.yaml:1:"]),
        (b"red: \xff\n", ["tdd.yaml", "UTF-8"]),
        (b"red: \x00\n", ["tdd.yaml"]),
        ("red: 2020-99-99\n", ["tdd.yaml:1:"]),
        ("x: &a [*a]\n", ["tdd.yaml:1:", "`x`"]),
        ("stacks: &a [*a]\n", ["tdd.yaml:1:", "stacks[0]"]),
        ("spec: [ok, ../up]\n", ["tdd.yaml:1:", "spec[1]", "'../up'"]),
        ("oracle:\n  include:\n    - /abs\n", ["tdd.yaml:3:", "oracle.include[0]", "absolute"]),
        ("stacks:\n - generated: ['[x']\n", ["tdd.yaml:2:", "stacks[0].generated[0]", "never closed"]),
        ("stacks:\n - source: ['']\n", ["tdd.yaml:2:", "stacks[0].source[0]", "empty"]),
        ("stacks:\n - root: ../x\n", ["tdd.yaml:2:", "stacks[0].root", "outside"]),
        ("stacks:\n - root: /tmp\n", ["tdd.yaml:2:", "stacks[0].root", "outside"]),
        ("stacks:\n - root: gone\n", ["tdd.yaml:2:", "stacks[0].root", "no folder"]),
        ("stacks:\n - root: leak\n", ["tdd.yaml:2:", "stacks[0].root", "outside"]),
        ("stacks:\n - root: .\n - root: ./\n", ["tdd.yaml:3:", "stacks[1].root", "stacks[0]"]),
        ("stacks:\n - root: '.'\n - {}\n", ["tdd.yaml:3:", "stacks[1].root"]),
        (
            "stacks:\n - language: cobol\n",
            ["tdd.yaml:2:", "stacks[0].language", "not supported by this version"],
        ),
        ("stacks:\n - suite: [a, -m]\n", ["tdd.yaml:2:", "stacks[0].suite[1]", "-m MARK"]),
        ("room:\n  network: lan\n", ["tdd.yaml:2:", "room.network", "none, loopback, host", "'lan'"]),
        ("room:\n  same: [zone, moon]\n", ["tdd.yaml:2:", "room.same", "hash-seed, zone", "'moon'"]),
        ("sandbox:\n  write: [a/b]\n", ["tdd.yaml:2:", "sandbox.write[0]", "'a/b'", "begin it with / or ~/"]),
        ("sandbox: {write: [~/a/../..]}\n", ["tdd.yaml:1:", "sandbox.write[0]", "outright"]),
        ("sandbox: {write: [/]}\n", ["tdd.yaml:1:", "sandbox.write[0]", "outright"]),
        ("sandbox: {writes: []}\n", ["tdd.yaml:1:", "sandbox", "`writes`", "`write`?"]),
        ("room:\n  env: DATABASE_URL\n", ["tdd.yaml:2:", "room.env", "expected `object | array`"]),
        ("room:\n  env:\n  - A\n  - B: x\n", ["tdd.yaml:4:", "room.env[1]", "NAME=VALUE"]),
        ("room:\n  env: [A, '=x']\n", ["tdd.yaml:2:", "room.env[1]", "no name", "NAME=VALUE"]),
        ("room:\n  env:\n  - 'A B'\n", ["tdd.yaml:3:", "room.env[0]", "'A B'"]),
        ("room:\n  env:\n    A: x\n    B: [y]\n", ["tdd.yaml:4:", "room.env.B", "text"]),
        ("room:\n  env:\n    B: yes\n", ["tdd.yaml:3:", "room.env.B", "quote"]),
        ("room:\n  env:\n    B=C: x\n", ["tdd.yaml:3:", "room.env", "'B=C'"]),
        ("room:\n  env:\n    3: x\n", ["tdd.yaml:3:", "room.env.3", "'3'"]),
        ('room:\n  env:\n    B: "a\\0b"\n', ["tdd.yaml:3:", "room.env.B", "zero byte"]),
        ("room:\n  plugins: xdist\n", ["tdd.yaml:2:", "room.plugins", "expected `array"]),
        ("room:\n  plugins: ['a b']\n", ["tdd.yaml:2:", "room.plugins[0]", "'a b'"]),
        ("uncovered: deny\n", ["tdd.yaml:1:", "uncovered", "record, block"]),
        ("agents: claude\n", ["tdd.yaml:1:", "agents", "expected `array`"]),
        ("stacks:\n - runner: nose\n", ["tdd.yaml:2:", "stacks[0].runner", "not supported by this version"]),
        ("stacks:\n - runner: vitest\n", ["tdd.yaml:2:", "stacks[0].runner", "vitest does not run python"]),
        (
            "stacks:\n - language: rust\n   runner: go\n",
            ["tdd.yaml:3:", "stacks[0].runner", "go does not run rust", "cargo, junit"],
        ),
        ("stacks:\n - language: go\n   python: x\n", ["tdd.yaml:3:", "stacks[0].python", "stack of go"]),
        ("stacks:\n - language: go\n   suite: [a, -m x]\n", ["tdd.yaml:3:", "stacks[0].suite[1]", "marks"]),
        (
            "stacks:\n - {language: java, junit: &j {preset: surefire}}\n - {language: kotlin, junit: *j}\n",
            ["tdd.yaml:3:", "stacks[1].root", "stacks[0]"],
        ),
        ("stacks:\n - language: ruby\n", ["tdd.yaml:2:", "stacks[0]", "rspec", "junit.command"]),
        ("stacks:\n - runner: junit\n   junit: {}\n", ["tdd.yaml:3:", "stacks[0].junit", "preset"]),
        ("stacks:\n - junit: {preset: rspec}\n", ["tdd.yaml:2:", "stacks[0].junit", "runner: junit"]),
        (f"{JUNIT}    presets: rspec\n", ["tdd.yaml:4:", "stacks[0].junit", "`preset`?"]),
        (f"{JUNIT}    preset: nose\n", ["tdd.yaml:4:", "junit.preset", "'nose'", "surefire"]),
        (f"{JUNIT}    command: make test\n", ["tdd.yaml:4:", "junit.command", "{report}", "reports"]),
        (f'{JUNIT}    command: "make \'"\n', ["tdd.yaml:4:", "junit.command", "quotation"]),
        (f"{JUNIT}    preset: rspec\n    pattern: (\n", ["tdd.yaml:5:", "junit.pattern", "broken regular"]),
        (
            f"{JUNIT}    preset: rspec\n    build_error: (?P<path>x)\n",
            ["tdd.yaml:5:", "junit.build_error", "`line`, `message`"],
        ),
        (f"{JUNIT}    preset: rspec\n    errors: never\n", ["tdd.yaml:5:", "stacks[0].junit.errors"]),
        (f"{JUNIT}    preset: rspec\n    reports: [/x]\n", ["tdd.yaml:5:", "junit.reports[0]", "absolute"]),
        ("stacks:\n - test_command_for: make\n", ["tdd.yaml:2:", "test_command_for", "expected `object`"]),
        (f"{SOME}    e2e: make\n", ["tdd.yaml:3:", "test_command_for.e2e", "exit code", "{report}"]),
        (f"{SOME}    /e2e: make {{args}}\n", ["tdd.yaml:3:", "test_command_for./e2e", "absolute"]),
        (f"{SOME}    e2e: [make, 3]\n", ["tdd.yaml:3:", "test_command_for.e2e", "words"]),
        (f"{SOME}    3: make {{args}}\n", ["tdd.yaml:3:", "test_command_for.3", "quote"]),
    ],
)
def test_what_is_wrong_is_said_with_its_place(tmp_path: Path, text: str | bytes, parts: list[str]) -> None:
    root = tmp_path / "w"
    root.mkdir()
    (root / "leak").symlink_to(tmp_path)
    with pytest.raises(ConfigError) as caught:
        load(write(root, text))
    for part in parts:
        assert part in f"{caught.value.message} ({caught.value.hint})"
    assert caught.value.hint
    assert "\n" not in caught.value.message


@pytest.mark.parametrize(
    ("language", "runner"),
    [("python", "pytest"), ("node", "vitest"), ("rust", "cargo"), ("go", "go")],
)
def test_a_language_has_its_usual_runner(language: str, runner: str) -> None:
    [stack] = decode(f"stacks: [{{language: {language}}}]\n".encode()).settings.stacks
    assert (stack.language, stack.runner) == (language, runner)


@pytest.mark.parametrize("language", ["python", "node", "rust", "go", "java", "php", "ruby"])
def test_a_junit_tool_may_test_any_language(language: str) -> None:
    text = f"stacks: [{{language: {language}, runner: junit, junit: {{command: 'x {{report}}', path: y}}}}]\n"
    [stack] = decode(text.encode()).settings.stacks
    assert stack.junit == JUnit(command=("x", "{report}"), path="y")


def test_a_presets_places_serve_another_command() -> None:
    text = "stacks: [{language: java, junit: {preset: surefire, command: ./mvnw test}}]\n"
    [stack] = decode(text.encode()).settings.stacks
    assert stack.junit == JUnit(preset="surefire", command=("./mvnw", "test"))


def test_two_languages_may_share_a_root() -> None:
    stacks = decode(b"stacks: [{language: python}, {language: node}]\n").settings.stacks
    assert [(stack.root, stack.language) for stack in stacks] == [(".", "python"), (".", "node")]


def test_the_rooms_environment_may_be_a_mapping() -> None:
    text = "room:\n  env:\n    DATABASE_URL:\n    MODE: test\n    PORT: 5432\n    EMPTY: ''\n"
    expected = ("DATABASE_URL", "MODE=test", "PORT=5432", "EMPTY=")
    assert decode(text.encode()).settings.room_env == expected


@pytest.mark.parametrize(("text", "expected"), [("[]", ()), ("~", None), ("[cov]", ("cov",))])
def test_no_plugins_are_not_all_plugins(text: str, expected: tuple[str, ...] | None) -> None:
    assert decode(f"room: {{plugins: {text}}}\n".encode()).settings.room_plugins == expected


def test_the_rendered_defaults_read_back(tmp_path: Path) -> None:
    text = render(Settings())
    assert load(write(tmp_path, text)).settings == Settings()
    pointer, *active = text.splitlines()
    assert pointer == "# Every key, with its default: `tdd help configuration`"
    assert active == ["stacks:", '  - root: "."', "    language: python", "    runner: pytest"]


names = st.text(min_size=1, max_size=8).filter(lambda s: "\0" not in s)
globs = st.lists(
    st.sampled_from(["a/**", "b c", "it's", 'say "x"', "*.py", "# no", "né", "x: y", "- z", "\u2028x"])
)
stacks = st.builds(
    Stack,
    python=st.none() | names,
    test=globs.map(tuple),
    source=globs.map(tuple),
    suite=st.lists(names.filter(lambda name: not name.startswith("-m"))).map(tuple),
    test_command=st.lists(names).map(tuple),
    check=st.none() | names,
    format=st.none() | names,
    test_command_for=st.dictionaries(
        st.sampled_from(["e2e/**", "a.py::b", "t.ts::x: › 'y'", "c d/*"]),
        st.lists(names).map(lambda words: (*words, "{args}")),
    ).map(lambda found: tuple(found.items())),
)
elsewhere = st.builds(
    Stack,
    root=st.just("web/a b"),
    language=st.just("java"),
    runner=st.just("junit"),
    junit=st.builds(
        JUnit,
        preset=st.sampled_from(["surefire", "rspec"]),
        command=st.just(()) | st.just(("x", "{report}/y: z")),
        item=st.none() | names,
        join=st.none() | st.sampled_from(["", ",", " "]),
        escape=st.none() | st.booleans(),
        reports=st.just(()) | st.just(("a/*.xml",)),
        errors=st.none() | st.sampled_from(["call", "setup"]),
    ),
)


@settings(max_examples=25, deadline=None)
@given(
    st.builds(
        Settings,
        stacks=st.tuples(stacks) | st.tuples(stacks, elsewhere),
        red=st.sampled_from(["behaviour", "assertion"]),
        claims=st.sampled_from(["implied", "strict"]),
        strikes=st.integers(1, 9),
        spec=globs.map(tuple),
        oracle_include=globs.map(tuple),
        oracle_exclude=globs.map(tuple),
        timeout=st.integers(1, 10**6),
        test_timeout=st.integers(1, 10**6),
        concerns=st.sampled_from(["record", "block"]),
        liveness=st.booleans(),
        liveness_seconds=st.integers(1, 10**6),
        room_env=st.lists(st.sampled_from(["A", "B=", "C=x y", "D=a: #b", "E='=\"", "F=\n"])).map(tuple),
        room_network=st.sampled_from(["none", "loopback", "host"]),
        room_git=st.booleans(),
        room_plugins=st.none() | st.lists(st.sampled_from(["xdist", "no:cov", "a.b"])).map(tuple),
        uncovered=st.sampled_from(["record", "block"]),
        agents=st.lists(st.sampled_from(["claude", "codex"])).map(tuple),
    )
)
def test_rendered_settings_read_back(wanted: Settings) -> None:
    assert decode(render(wanted).encode()).settings == wanted


def test_every_reader_serves_a_key() -> None:
    kinds = (Settings, Stack, JUnit, ModelSettings, *(section.settings for section in built_in_sections()))
    assert {key.of for kind in kinds for key in keys_of(kind).values()} >= READERS.keys()


DOCS = Path(__file__).resolve().parents[3] / "docs/configuration.md"


def test_the_documented_example_is_valid() -> None:
    example = DOCS.read_text(encoding="utf-8").partition("```yaml\n")[2].partition("```")[0]
    assert decode(example.encode()).settings.stacks[0].source == ("billing",)
