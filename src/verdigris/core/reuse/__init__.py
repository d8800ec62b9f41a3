"""Decides which tests keep their result from one tree to the next: those that cannot notice the difference.

A test may notice a change if it ran a function whose body differs, or one that says a name which means
something else, or one that looks through names without saying them. The words of an example in documentation
(a doctest) stand in that text. In any doubt the test is run, or all of them are.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from posixpath import splitext

from verdigris.core.reuse.facts import ModuleDelta, ModuleWords, RunRecord, TreeChange
from verdigris.core.test_ids import function_of, split_id
from verdigris.core.value import field, replace, value

_LOOKS_THROUGH = frozenset(
    (
        *("dir", "vars", "globals", "locals", "__dict__", "__all__", "getmembers", "eval", "exec", "__doc__"),
        *("__code__", "signature", "getsource", "get_type_hints", "__annotations__", "getdoc"),
        *("import_module", "walk_packages", "iter_modules", "reload", "getfullargspec", "__wrapped__"),
        "computed name",
    )
)
"""Words of code that can reach a name without saying it."""
_FILLS = frozenset(
    {"*", "globals", "vars", "__dict__", "exec", "eval", "modules", "import_module", "computed name"}
)
"""Words of code that can bind a name without saying it."""
_READS_SOURCE = frozenset({"getsource", "getsourcelines", "findsource", "getsourcefile", "linecache"})


@value
class Rerun:
    """The tests to run; all others keep their result."""

    ids: frozenset[str] = field(default_factory=frozenset)
    """Known tests that may notice something."""
    names: frozenset[str] = field(default_factory=frozenset)
    """Files and functions of tests to run in addition."""
    dropped: frozenset[str] = field(default_factory=frozenset)
    """Known tests whose result is not kept: those that are run, and those that are gone."""
    whole: str = ""
    """Why all tests are to be run."""


def plan_rerun(
    record: RunRecord, change: TreeChange, words: Mapping[str, ModuleWords], kept: Collection[str]
) -> Rerun:
    """`words`: what the recorded files say after the change. `kept`: tests with a result worth keeping."""
    if why := _why_whole(record, change, words):
        return Rerun(whole=why)
    change = _spread_meanings(change, words)
    names = _changed_names(change)
    hidden = _find_hidden(record, change, words)
    files = _find_files(record, change, words, names, hidden)
    if said := next((path for path in sorted(files) if _is_apart(path, record, change, words)), None):
        return Rerun(whole=f"{said} does something else when it is loaded")
    bodies = {(path, name) for path, delta in change.modules.items() for name in delta.bodies}
    noted = any(delta.notes for delta in change.modules.values())
    sought = names | (_LOOKS_THROUGH if names or noted else frozenset()) | _READS_SOURCE
    reaching = _find_reaching(record, change, words)
    touched = _find_touched(record, bodies, sought, words, hidden)
    early = touched.intersection(record.sets[record.common[""]])
    if early & _find_touched(record, bodies, names | _READS_SOURCE, words, hidden) or any(
        record.functions[number][0] in reaching for number in early
    ):
        return Rerun(whole="what runs before the tests changed")
    noticing = _find_noticing(record, touched)
    ids = {i for i in record.tests if i in noticing or i not in kept}
    gone = _test_ids(change, lambda delta: _named_test(delta.gone))
    classes = _test_ids(change, lambda delta: delta.classes)
    dropped = {
        i
        for i in record.tests
        if function_of(i) in gone
        or split_id(i).path in files
        or i.startswith(tuple(f"{c}::" for c in classes))
    }
    examples = plan_examples(record.tests, change.modules, words, sought)
    ids |= examples.ids
    dropped |= examples.dropped
    added = _test_ids(change, lambda delta: _named_test(delta.added)) | classes | examples.names
    named = frozenset(name for name in added if split_id(name).path not in files)
    return Rerun(frozenset(ids - dropped), named | files | change.fresh, frozenset(ids | dropped))


def _spread_meanings(change: TreeChange, words: Mapping[str, ModuleWords]) -> TreeChange:
    """Adds what is made from a changed name: its meaning has changed too, through any number of steps."""
    modules = dict(change.modules)
    done: set[tuple[str, str]] = set()
    while True:
        names = _changed_names(replace(change, modules=modules))
        found = {
            (path, name)
            for path, said in words.items()
            for name, of in said.made.items()
            if (path, name) not in done and not names.isdisjoint(of)
        }
        if not found:
            return replace(change, modules=modules)
        done |= found
        for path, name in found:
            modules[path] = _remake(modules.get(path, ModuleDelta()), words[path], name)


def _remake(delta: ModuleDelta, said: ModuleWords, name: str) -> ModuleDelta:
    """The delta with a changed definition in it; a changed part of a class changes the class."""
    owner = name.rpartition(".")[0]
    if owner:
        methods = {one for one in said.functions if one.startswith(f"{owner}.")}
        names = {owner.partition(".")[0], _last(name)}
        return replace(
            delta,
            bodies=delta.bodies | methods,
            names=delta.names | names,
            classes=delta.classes | {owner},
            variables=delta.variables - names,
        )
    own = {name} & said.functions.keys()
    return replace(
        delta,
        bodies=delta.bodies | own,
        names=delta.names | {name},
        added=delta.added | own,
        gone=delta.gone | own,
        variables=delta.variables - {name},
    )


def _changed_names(change: TreeChange) -> frozenset[str]:
    """All changed names, except those of added and removed tests: only the runner looks for these."""
    found: set[str] = set()
    for path, delta in change.modules.items():
        own = {_last(name) for name in (delta.added | delta.gone)} if path in change.tests else set()
        found |= {name for name in delta.names if name not in own or not name.startswith("test")}
    return frozenset(found)


def _test_ids(change: TreeChange, pick: Callable[[ModuleDelta], Iterable[str]]) -> frozenset[str]:
    """Ids of the functions or classes that `pick` takes, of each file with tests."""
    return frozenset(
        f"{path}::{name.replace('.', '::')}"
        for path, delta in change.modules.items()
        if path in change.tests
        for name in pick(delta)
    )


def _named_test(names: Iterable[str]) -> Iterable[str]:
    return (name for name in names if _last(name).startswith("test"))


def _find_files(
    record: RunRecord,
    change: TreeChange,
    words: Mapping[str, ModuleWords],
    names: frozenset[str],
    hidden: Mapping[str, frozenset[str]],
) -> frozenset[str]:
    """Files that act differently when they are loaded; of test files, also those that inherit other tests."""
    found = {path for path, delta in change.modules.items() if delta.more}
    reaching = _find_reaching(record, change, words)
    for path in record.files if names else ():
        looks = _LOOKS_THROUGH - {"__doc__", "__all__"} if path in reaching else frozenset()
        if (
            path not in words
            or _says(words[path], "", names, hidden[path])
            or not looks.isdisjoint(words[path].loading)
        ):
            found.add(path)
    for path, delta in change.modules.items():
        owners = {name.rpartition(".")[0] for name in delta.added | delta.gone} | delta.classes
        if path in change.tests and path in words and owners & words[path].loading:
            found.add(path)
    return frozenset(found)


def _find_hidden(
    record: RunRecord, change: TreeChange, words: Mapping[str, ModuleWords]
) -> Mapping[str, frozenset[str]]:
    """Changed names that a file may still say, by file: as variables they are its own. They changed in
    modules that it does not import, and it imports them by name from no other module of the project.
    """
    parts = frozenset[str]().union(*map(_parts_of, {*words, *change.modules}))
    unnamed = {path for path in change.tests & change.modules.keys() if not _is_said(path, record, words)}
    return {path: _find_own(path, said, change, parts, unnamed) for path, said in words.items()}


def _find_own(
    path: str, said: ModuleWords, change: TreeChange, parts: frozenset[str], unnamed: Collection[str]
) -> frozenset[str]:
    """`parts`: the names of all modules of the project; `unnamed`: modules that no other file names."""
    if not _FILLS.isdisjoint(said.loading.union(said.imports, *said.functions.values())):
        return frozenset()
    # A module of the project may shadow one of the standard library.
    taken = said.imports - (said.library if said.library.isdisjoint(parts) else frozenset())
    own: set[str] = set()
    others = _LOOKS_THROUGH | _READS_SOURCE
    for module, delta in change.modules.items():
        if module == path or not (module in unnamed or _parts_of(module).isdisjoint(said.imports)):
            others |= delta.names
            continue
        variables = delta.variables if module in unnamed else delta.variables - taken
        own |= variables
        others |= delta.names - variables
    return frozenset(own - others)


def _says(said: ModuleWords, function: str, sought: frozenset[str], hidden: frozenset[str]) -> bool:
    """Whether a function says one of the names; the empty name stands for the code that runs at import."""
    found = sought & (said.functions[function] if function else said.outside)
    return bool(found - (hidden & said.bare.get(function, frozenset())))


def _parts_of(path: str) -> frozenset[str]:
    """Words of which every import of the module says at least one."""
    return frozenset(splitext(path)[0].split("/")) - {"__init__", "src"}


def _find_reaching(record: RunRecord, change: TreeChange, words: Mapping[str, ModuleWords]) -> frozenset[str]:
    """Files in reach of a module with changed names: the module itself, and those that import it."""
    changed = {path for path, delta in change.modules.items() if delta.names}
    reached = frozenset[str]().union(*map(_parts_of, changed))
    return frozenset(
        path
        for path in record.files
        if path in changed or path not in words or not reached.isdisjoint(words[path].imports)
    )


def _is_apart(path: str, record: RunRecord, change: TreeChange, words: Mapping[str, ModuleWords]) -> bool:
    """Whether tests of other files may depend on how this one is loaded."""
    return path not in change.tests or _is_said(path, record, words)


def _why_whole(record: RunRecord, change: TreeChange, words: Mapping[str, ModuleWords]) -> str:
    """Why no result can be kept; empty if some can."""
    if read := sorted((change.others | frozenset(change.modules)) & record.read):
        return f"{read[0]} changed, and a test reads it"
    for path in sorted(change.unlisted | change.fresh):
        if any(folder in {".", "./"} or path.startswith(folder) for folder in record.listed):
            return f"{path} is new or gone, and a test lists its folder"
    for path in sorted(change.fresh):
        if _is_said(path, record, words):
            return f"{path} is new, and another file names it"
    for path, delta in sorted(change.modules.items()):
        differs = delta.added or delta.gone or delta.classes
        if differs and path in change.tests and _is_said(path, record, words):
            return f"{path} has other tests, and another file names it"
    return ""


def _is_said(path: str, record: RunRecord, words: Mapping[str, ModuleWords]) -> bool:
    """Whether another file that was run says the module's name."""
    stem = splitext(path.rpartition("/")[2])[0]
    return any(
        stem in one.loading or stem in one.imports or any(stem in said for said in one.functions.values())
        for other, one in words.items()
        if other != path and other in record.files
    )


def _find_touched(
    record: RunRecord,
    bodies: Collection[tuple[str, str]],
    sought: frozenset[str],
    words: Mapping[str, ModuleWords],
    hidden: Mapping[str, frozenset[str]],
) -> frozenset[int]:
    """Numbers of functions that changed, or that say one of the words."""

    def is_touched(path: str, name: str) -> bool:
        if not name or (path, name) in bodies:
            return bool(name)
        if path not in words or name not in words[path].functions:
            return True
        return _says(words[path], name, sought, hidden[path])

    return frozenset(number for number, (path, name) in enumerate(record.functions) if is_touched(path, name))


def _find_noticing(record: RunRecord, touched: frozenset[int]) -> frozenset[str]:
    sets = {number for number, one in enumerate(record.sets) if not touched.isdisjoint(one)}
    files = {path for path, number in record.common.items() if number in sets}
    unsure = {i for i, use in record.tests.items() if use.unsure}
    more = {i for i, use in record.tests.items() if use.functions in sets or split_id(i).path in files}
    found: set[str] = set()
    while more:
        found |= more
        memories = {number for i in found for number in record.tests[i].fills}
        more = {i for i, use in record.tests.items() if i not in found and memories.intersection(use.hits)}
    return frozenset(found | unsure)


def _last(name: str) -> str:
    return name.rpartition(".")[2]


def is_example(native: str) -> bool:
    """Names of test functions have no dots; an example has the dotted name of what it documents."""
    return "." in native.partition("::")[2].partition("[")[0]


def plan_examples(
    tests: Iterable[str],
    modules: Mapping[str, ModuleDelta],
    words: Mapping[str, ModuleWords],
    sought: frozenset[str],
) -> Rerun:
    """The examples to run. `sought`: names that mean something else, and words that may find them.

    An example whose place is not found is run.
    """
    ids: set[str] = set()
    gone: set[str] = set()
    homes: dict[str, set[tuple[str, str]]] = {}
    known: set[tuple[str, str]] = set()
    for native in filter(is_example, tests):
        file, _, dotted = native.partition("::")
        places = list(_find_places(dotted, words))
        here = [(path, name) for path, name, _ in places if name in words[path].examples]
        if len(here) == 1:
            path, name = here[0]
            module = next(said for at, _, said in places if at == path)
            known.add((path, name))
            homes.setdefault(path, set()).add((file, module))
            differs = path in modules and name in modules[path].notes
            ids |= {native} if differs or words[path].examples[name] & sought else set()
        elif not here and sum(_is_gone(modules.get(path), name) for path, name, _ in places) == 1:
            gone.add(native)
        else:
            ids.add(native)
    fresh = {
        f"{file}::{module}{'.' if name else ''}{name}"
        for path in modules.keys() & homes.keys()
        for name in words[path].examples
        if (path, name) not in known
        for file, module in homes[path]
    }
    return Rerun(frozenset(ids), frozenset(fresh), frozenset(gone))


def _find_places(dotted: str, words: Mapping[str, ModuleWords]) -> Iterator[tuple[str, str, str]]:
    """Files that may hold this dotted name: each with the qualified name in it, and the module's name."""
    for path in words:
        parts = splitext(path)[0].removesuffix("/__init__").split("/")
        for first in range(len(parts)):
            module = ".".join(parts[first:])
            if f"{dotted}.".startswith(f"{module}."):
                yield path, dotted[len(module) + 1 :], module
                break


def _is_gone(delta: ModuleDelta | None, name: str) -> bool:
    return delta is not None and name in delta.gone | delta.notes
