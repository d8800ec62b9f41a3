"""Fleets on a Ray cluster of two nodes, both on this machine."""

from __future__ import annotations

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from support.fleets import FakeFleet, Watched, folder_content, is_alive, parent_of, wait_for
from verdigris.core.errors import ToolMissing
from verdigris.drivers.fleet.run import LocalEngine, RayEngine, prepare_units, run_fleet

pytestmark = [pytest.mark.slow, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(scope="module")
def cluster() -> Iterator[Any]:
    ray = pytest.importorskip("ray", reason="Ray is not installed: pip install 'verdigris[fleet]'")
    utils = pytest.importorskip("ray.cluster_utils")
    made = utils.Cluster(initialize_head=True, head_node_args={"num_cpus": 1, "include_dashboard": False})
    made.add_node(num_cpus=1)
    yield made
    if ray.is_initialized():
        ray.shutdown()
    made.shutdown()


def test_a_worker_killed_on_two_nodes_is_replaced_and_the_folder_is_as_without_ray(
    cluster: Any, tmp_path: Path
) -> None:
    fleet = FakeFleet(tmp_path)
    names = ("one", "slow", "two", "bad", "three", "four")
    whole = fleet.request(*names, out="whole")
    (tmp_path / "slow.starts").write_text("0 0\n")
    run_fleet(whole, prepare_units(whole), LocalEngine(2), Watched())
    fleet.forget_starts()
    asked = fleet.request(*names)
    pids: list[int] = []

    def kill() -> None:
        pid, carrier = fleet.await_start("slow")
        pids.extend((pid, carrier))
        os.kill(parent_of(carrier), signal.SIGKILL)

    killer = threading.Thread(target=kill)
    killer.start()
    watched = Watched()
    engine = RayEngine(cluster.address)
    assert engine.jobs == 2
    summary = run_fleet(asked, prepare_units(asked), engine, watched)
    killer.join()
    assert (summary.units, summary.infrastructure, summary.negative) == (6, 0, 1)
    assert any(line.startswith("lost slow True its worker was lost") for line in watched.told)
    assert len(fleet.starts("slow")) == 2
    assert folder_content(asked.out) == folder_content(whole.out)
    wait_for(lambda: not any(map(is_alive, pids)), 20)


@pytest.mark.parametrize("address", ["not-an-address", "127.0.0.1:1", "ray://[::1]:1"])
def test_a_cluster_that_is_not_there_is_told_at_once_with_what_to_look_at(address: str) -> None:
    pytest.importorskip("ray", reason="Ray is not installed: pip install 'verdigris[fleet]'")
    with pytest.raises(ToolMissing, match="cannot be reached") as refused:
        RayEngine(address)
    assert "ray status" in (refused.value.hint or "")


def test_without_ray_the_extra_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    def absent(name: str) -> None:
        raise ImportError(name)

    monkeypatch.setattr("verdigris.drivers.fleet.run.import_module", absent)
    with pytest.raises(ToolMissing) as refused:
        RayEngine()
    assert "verdigris[fleet]" in (refused.value.hint or "")


def test_a_node_that_is_lost_in_the_middle_of_a_unit_costs_nothing_but_time(
    cluster: Any, tmp_path: Path
) -> None:
    fleet = FakeFleet(tmp_path)
    nodes = [cluster.add_node(num_cpus=1, resources={"spare": 1}) for _ in range(2)]
    raylets = {node.all_processes["raylet"][0].process.pid: node for node in nodes}
    names = tuple(f"slow-{number}" for number in range(4))
    asked = fleet.request(*names)
    lost: list[str] = []

    def remove() -> None:
        """Every first start hangs: the one on a spare node is lost with its node, the others' workers."""
        wait_for(lambda: all(map(fleet.starts, names)))
        for name in names:
            worker = parent_of(fleet.starts(name)[0][1])
            node = raylets.get(parent_of(worker))
            if node is not None and not lost:
                lost.append(name)
                cluster.remove_node(node, allow_graceful=False)
            else:
                os.kill(worker, signal.SIGKILL)

    remover = threading.Thread(target=remove)
    remover.start()
    watched = Watched()
    summary = run_fleet(asked, prepare_units(asked), RayEngine(cluster.address, jobs=4), watched)
    remover.join()
    assert lost
    assert (summary.infrastructure, summary.verdicts) == (0, ("replay holds",) * 4)
    assert [len(fleet.starts(name)) for name in names] == [2] * 4
    assert sum(line.startswith("lost slow") for line in watched.told) == 4
