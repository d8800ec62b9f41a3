from __future__ import annotations

import errno
import os
import socket
from pathlib import Path

import pytest

from support.cage import Cage, elsewhere, shown
from verdigris.core.errors import HarnessError
from verdigris.sandbox import confinement
from verdigris.sandbox.confinement import (
    Confinement,
    check_confinement,
    is_inside,
    list_mounts,
    parse_mount,
    points_below,
)
from verdigris.sandbox.syscalls import MS_NODEV, MS_RDONLY, MS_RELATIME, Way


@pytest.fixture
def good(tmp_path: Path) -> Confinement:
    for name in ("root/src", "upper/x", "work", "laid", "home"):
        (tmp_path / name).mkdir(parents=True)
    root, upper, work = (str(tmp_path / name) for name in ("root", "upper", "work"))
    return Confinement(root, upper, work)


def test_paths_become_canonical(good: Confinement, tmp_path: Path) -> None:
    (tmp_path / "link").symlink_to("root")
    root = str(tmp_path.resolve() / "root")
    held = f"{tmp_path}/link/held"
    made = check_confinement(
        Confinement(f"{tmp_path}/link", good.upper, good.work, masked=(held,), needed=(held,))
    )
    assert (made.root, made.masked, made.needed) == (root, (f"{root}/held",), (f"{root}/held",))


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("root", "gone"),
        ("work", "root"),
        ("upper", "."),
        ("laid", ("root/src",)),
        ("laid", ("gone",)),
        ("writable", ("root/src",)),
        ("writable", (".",)),
        ("writable", ("upper/x",)),
        ("removed", ("/etc/passwd",)),
        ("removed", ("a/../../b",)),
        ("removed", ("",)),
    ],
)
def test_our_own_mistakes(
    good: Confinement, tmp_path: Path, field: str, value: str | tuple[str, ...]
) -> None:
    fields = {name: getattr(good, name) for name in ("root", "upper", "work")}
    if field == "removed":
        fields[field] = value
    elif isinstance(value, str):
        fields[field] = os.path.normpath(tmp_path / value)
    else:
        paths = tuple(os.path.normpath(tmp_path / one) for one in value)
        fields[field] = tuple((path, path) for path in paths) if field == "writable" else paths
    with pytest.raises(HarnessError):
        check_confinement(Confinement(**fields))


def test_inside() -> None:
    assert is_inside("/a/b", "/a")
    assert is_inside("/a", "/a")
    assert is_inside("/a", "/")
    assert not is_inside("/ab", "/a")


def test_a_line_of_the_kernels_list() -> None:
    line = b"36 35 98:0 / /mnt/a\\040b\\012\\134c ro,nodev,relatime shared:1 - ext4 /dev/x rw\n"
    found = parse_mount(line)
    assert (found.point, found.flags) == ("/mnt/a b\n\\c", MS_RDONLY | MS_NODEV | MS_RELATIME)


def test_this_systems_own() -> None:
    points = [found.point for found in list_mounts()]
    assert "/" in points
    assert set(points_below("/")) == set(points) - {"/"}
    assert points_below("/pro") == ()


def shadow(caged: Cage, folder: str, path: str) -> tuple[str, str, str, str]:
    for name in ("upper", "work"):
        caged.write(f"{folder}-layer/{name}/.made").unlink()
    layer = f"{caged.folder}/{folder}-layer"
    return f"{caged.folder}/{folder}", path, f"{layer}/upper", f"{layer}/work"


def test_a_placed_folder_is_written_for_real(caged: Cage) -> None:
    caged.write("cache/old", "old\n")
    at = f"{caged.root}/deep/target"
    done = caged.run(
        "sh", "-c", "cat deep/target/old; echo new > deep/target/new", placed=((f"{caged.folder}/cache", at),)
    )
    assert done.out == "old\n", done.err
    assert (caged.folder / "cache/new").read_text() == "new\n"
    assert not (caged.root / "deep").exists()


def test_a_shadowed_folder_is_read_and_stays_as_it_is(caged: Cage) -> None:
    caged.write("cache/old", "old\n")
    caged.write("cache/gone", "gone\n")
    command = "cat target/old; echo new > target/old; rm target/gone; ls target; cat target/old"
    done = caged.run("sh", "-c", command, shadows=(shadow(caged, "cache", f"{caged.root}/target"),))
    assert done.out == "old\nold\nnew\n", done.err
    assert (caged.folder / "cache/old").read_text() == "old\n"
    assert (caged.folder / "cache/gone").exists()


def test_a_folder_in_its_own_place_can_be_written_without_effect(caged: Cage) -> None:
    file = caged.write("outside/file", "as it was\n")
    done = caged.run(
        "sh",
        "-c",
        f"echo new > {file}; cat {file}",
        shadows=(shadow(caged, "outside", str(caged.outside)),),
    )
    assert done.out == "new\n", done.err
    assert file.read_text() == "as it was\n"


def test_a_link_in_the_worktree_gives_way(one: Cage) -> None:
    one.write("outside/file")
    one.write("cache/old", "old\n")
    (one.root / "target").symlink_to(one.outside)
    done = one.run("sh", "-c", "cat target/*", shadows=(shadow(one, "cache", f"{one.root}/target"),))
    assert done.out == "old\n", done.err
    assert (one.root / "target").is_symlink()
    assert (one.outside / "file").exists()


def test_folders_must_be_there(one: Cage) -> None:
    with pytest.raises(HarnessError, match="needs the folder"):
        check_confinement(one.confinement(placed=((f"{one.folder}/missing", f"{one.root}/target"),)))


SERVE = """
    import socket
    try:
        with socket.create_server(("127.0.0.1", 0)) as server:
            socket.create_connection(server.getsockname(), timeout=5).close()
        print("served")
    except OSError as error:
        print("no network")
"""


@pytest.mark.parametrize(
    ("network", "answer"), [("none", "no network"), ("loopback", "served"), ("host", "served")]
)
def test_the_loopback(caged: Cage, network: str, answer: str) -> None:
    assert caged.python(SERVE, network=network).out == f"{answer}\n"


@pytest.mark.parametrize(
    ("network", "answer"), [("none", "refused"), ("loopback", "refused"), ("host", "reached")]
)
def test_the_machines_own_network(one: Cage, network: str, answer: str) -> None:
    """By port, and by a socket without a path."""
    code = """
        import socket, sys
        def reached(family, address):
            with socket.socket(family) as mine:
                try:
                    mine.connect(address)
                except OSError:
                    return "refused"
                return "reached"
        print(reached(socket.AF_INET, ("127.0.0.1", int(sys.argv[1]))))
        print(reached(socket.AF_UNIX, "\\0" + sys.argv[2]))
    """
    name = f"tdd-{os.getpid()}"
    with socket.create_server(("127.0.0.1", 0)) as server, socket.socket(socket.AF_UNIX) as nameless:
        nameless.bind(f"\0{name}")
        nameless.listen()
        done = one.python(code, str(server.getsockname()[1]), name, network=network)
    assert done.out == f"{answer}\n{answer}\n", done.err


@pytest.mark.skipif(os.geteuid() != 0, reason="as root the file is writable but for the seal")
@pytest.mark.parametrize("way", ["mapped", "own", "plain"])
def test_one_by_one_where_the_kernel_is_old(one: Cage, monkeypatch: pytest.MonkeyPatch, way: Way) -> None:
    def missing(*_: object, **__: object) -> None:
        raise OSError(errno.ENOSYS, "no such call")

    monkeypatch.setattr(confinement, "set_mount_attributes", missing)
    command = f"echo x > /etc/verdigris-was-here; echo x > file; echo x > {one.home}/file; : > /dev/null; ls"
    said = elsewhere(lambda: shown(one.confinement(), way, command))
    assert said.startswith("file\n")
    assert said.count("Read-only") == 1
    assert (one.home / "file").exists()
