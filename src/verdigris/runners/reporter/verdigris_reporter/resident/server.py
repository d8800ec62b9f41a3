"""The resident process keeps the test tool loaded and forks for each run; the child enters the run's room."""

from __future__ import annotations

import _socket
import contextlib
import gc
import os
import select
import signal
import sys
from typing import TYPE_CHECKING, Any

from ..line import Broken, MessageLine  # noqa: TID252 - the package has another name when injected
from ..preload import load_plugins, prepare_configuration  # noqa: TID252 - same
from . import namespaces  # noqa: TID252 - same

if TYPE_CHECKING:
    from collections.abc import Callable


_STANDARD = 3
PATH = "PYTHONPATH"
_LOADED_AT_THE_START = ("sitecustomize", "usercustomize")


def serve(descriptor: str, tool: str, load: Callable[[], None]) -> tuple[str, list[str]]:
    """Serves runs. It returns only in the child of a run; the resident process itself ends here.

    Returns the descriptor of the run's channel, and the folders that the run added to `sys.path`.
    """
    line = MessageLine(_socket.socket(fileno=int(descriptor)))
    os.set_inheritable(line.fileno(), False)

    def load_all() -> None:
        load()
        if tool == "pytest":
            load_plugins()
            prepare_configuration()
            from .. import failures, names, properties  # noqa: F401, TID252 - for their loading

    server = Server(line)
    return server.serve(load_all), server.new_folders


class Server:
    def __init__(self, line: MessageLine) -> None:
        self.line = line
        self.files: dict[str, Any] = {}
        self.new_folders: list[str] = []
        self.child = 0

    def serve(self, load: Callable[[], None]) -> str:
        if self.line.receive() is None:  # the greeting
            os._exit(0)
        load()
        self.files = {
            file: _stamp(file) for file in map(_file, list(sys.modules.values())) if file is not None
        }
        gc.collect()
        gc.freeze()  # else the collector of every fork would touch, and so copy, all that is loaded
        self.line.send({"ready": True})
        while True:
            descriptor = self._take_request()
            if descriptor is not None:
                return descriptor

    def _take_request(self) -> str | None:
        """Carries out a request of the caller; in the child of a run it returns the channel's descriptor."""
        try:
            asked = self.line.receive()
        except Broken:
            os._exit(1)
        if asked is None:
            self._end_child()
            os._exit(0)
        message, beside = asked
        descriptor = None
        if "run" in message and not self.child:
            descriptor = self._fork(message["run"], beside)
        elif "gone" in message:
            self._end_child()
            self.line.send({"gone": True})
        if descriptor is None:
            for other in beside:
                os.close(other)
        return descriptor

    def _fork(self, run: dict[str, Any], beside: tuple[int, ...]) -> str | None:
        """Forks the child of a run; returns its channel in the child, None in this process.

        `beside`: descriptors for output, for the channel, and for the namespaces that `run["doors"]` names.
        """
        if any(_stamp(file) != stamp for file, stamp in self.files.items()):
            self.line.send({"why": "what is loaded has changed"})
            os._exit(1)
        said, tell = os.pipe()  # the child writes here why it could not become a run
        server = os.getpid()
        self.child = os.fork()
        if self.child == 0:
            os.close(said)
            try:
                self._become_run(run, beside, server, {tell, beside[1]})
            except BaseException as error:  # noqa: BLE001 - whatever it is, the run is not made here
                os.write(tell, str(error).encode("utf-8", "replace")[:1000] or b"?")
                os._exit(1)
            os.close(tell)
            return str(beside[1])
        os.close(tell)
        why = os.read(said, 1000)
        os.close(said)
        if why:
            self._end_child()
            self.line.send({"why": why.decode("utf-8", "replace")})
            return None
        self.line.send({"pid": self.child})
        self._watch()
        return None

    def _become_run(self, run: dict[str, Any], beside: tuple[int, ...], server: int, kept: set[int]) -> None:
        """Turns a forked child into the process of a run: streams, namespaces, folder, path, environment."""
        os.setsid()
        namespaces.die_with(server)
        nothing = os.open(os.devnull, os.O_RDONLY)
        os.dup2(nothing, 0)
        os.close(nothing)
        os.dup2(beside[0], 1)
        os.dup2(beside[0], 2)
        namespaces.join(dict(zip(run["doors"], beside[2:])), run["kept"])  # noqa: B905 - since Python 3.10
        os.chdir(run["cwd"])
        self.line.connection.detach()
        _close_all_but(kept)
        self.new_folders = take_path(os.environ.get(PATH, ""), run["env"].get(PATH, ""))
        os.environ.clear()
        os.environ.update(run["env"])
        if "tempfile" in sys.modules:
            sys.modules["tempfile"].tempdir = None  # type: ignore[attr-defined]  # computed for the old TMPDIR

    def _watch(self) -> None:
        """Waits until the child ends, and sends its exit code; stops waiting when the caller says `gone`."""
        woken, wake = os.pipe()
        os.set_blocking(wake, False)
        before = signal.signal(signal.SIGCHLD, lambda *_: None)
        old = signal.set_wakeup_fd(wake)
        try:
            while not _end_of(self.child):
                ready = [] if self.line.pending else select.select([woken, self.line.connection], [], [])[0]
                if woken not in ready:
                    return  # the only message that can come now is `gone`
                os.read(woken, 64)
        finally:
            signal.set_wakeup_fd(old)
            signal.signal(signal.SIGCHLD, before)
            os.close(woken)
            os.close(wake)
        ended = _end_of(self.child)
        code = ended.si_status if ended.si_code == os.CLD_EXITED else -ended.si_status
        self.line.send({"code": code})

    def _end_child(self) -> None:
        if self.child:
            with contextlib.suppress(OSError):
                os.killpg(self.child, signal.SIGKILL)
            with contextlib.suppress(OSError):
                os.kill(self.child, signal.SIGKILL)
            os.waitpid(self.child, 0)
            self.child = 0


def _file(module: Any) -> str | None:
    file = getattr(module, "__file__", None)
    return file if isinstance(file, str) else None


def _stamp(file: str) -> tuple[int, ...] | None:
    try:
        status = os.stat(file)  # noqa: PTH116 - hundreds of them
    except OSError:
        return None
    return status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns


def take_path(before: str, wanted: str) -> list[str]:
    """Puts the folders of PYTHONPATH into `sys.path` as an interpreter does that starts with it.

    Returns the folders that are new. Raises ValueError if only a new interpreter can follow this PYTHONPATH.
    """
    if sys.flags.ignore_environment or wanted == before:
        return []
    had, folders = _folders(before), _folders(wanted)
    new = [folder for folder in folders if folder not in had]
    if not set(had).issubset(folders) or any(map(_has_startup_modules, new)):
        raise ValueError("an interpreter has to start with this path")
    sys.path[:] = dict.fromkeys([*folders, *sys.path])
    for folder in new:
        sys.path_importer_cache.pop(folder, None)
    return new


def _folders(path: str) -> list[str]:
    return [os.path.abspath(folder) for folder in path.split(os.pathsep)] if path else []  # noqa: PTH100 - text


def _has_startup_modules(folder: str) -> bool:
    """Whether each interpreter loads a module of this folder at its start; an archive may hold one."""
    try:
        names = os.listdir(folder)  # noqa: PTH208 - names are all that is wanted
    except FileNotFoundError:
        return False
    except OSError:
        return True
    return any(name.split(".")[0] in _LOADED_AT_THE_START for name in names)


def _end_of(child: int) -> Any:
    """How the child ended, or None.

    It is not reaped: until then no other process or group gets its number.
    """
    return os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT)


def _close_all_but(kept: set[int]) -> None:
    for name in os.listdir("/proc/self/fd"):  # noqa: PTH208 - names are all that is wanted
        if int(name) >= _STANDARD and int(name) not in kept:
            with contextlib.suppress(OSError):  # the descriptor that listed the folder is closed by now
                os.close(int(name))
