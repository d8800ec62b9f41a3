# `os` by descriptor, on names that may be any bytes or too long:
# ruff: noqa: PTH115

from __future__ import annotations

import os

from support.cage import Cage
from verdigris.sandbox.syscalls import ways


def test_as_root_every_id_is_there_as_itself(caged: Cage) -> None:
    if caged.way == "own":
        return
    command = ": > file; chown 12:34 file; stat -c %u:%g file"
    assert caged.run("sh", "-c", command).out == "12:34\n"
    status = (caged.folder / "upper/file").stat()
    assert (status.st_uid, status.st_gid) == (12, 34)


def test_a_user_is_itself(caged: Cage) -> None:
    done = caged.run("sh", "-c", "id -u; : > file; stat -c %u file")
    uid = caged.root.stat().st_uid
    assert done.out == f"{uid}\n{uid}\n"


def test_each_run_has_namespaces_of_its_own(caged: Cage) -> None:
    kinds = ["mnt", "ipc", "net"] + (["user"] if caged.way != "plain" else [])
    links = [f"/proc/self/ns/{kind}" for kind in kinds]
    inside = caged.run("readlink", *links).out.split()
    assert len(inside) == len(links)
    assert not set(inside) & {os.readlink(link) for link in links}


def test_the_processes_stay_those_of_the_system(one: Cage) -> None:
    assert one.run("readlink", "/proc/self/ns/pid").out.strip() == os.readlink("/proc/self/ns/pid")


def test_only_root_may_do_without_a_user_namespace() -> None:
    assert ("plain" in ways()) == (os.geteuid() == 0)
