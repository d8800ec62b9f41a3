from __future__ import annotations

import textwrap
from unittest.mock import ANY

import pytest

from support.alive import HONEST, PATH, function, tried


class Deaf:
    """Answers True to every question."""

    __hash__ = object.__hash__

    def _yes(self, *_: object) -> bool:
        return True

    __eq__ = __lt__ = __le__ = __gt__ = __ge__ = __contains__ = _yes


ASSERTIONS = (
    """
assert twice(2) == 4
assert 4 == twice(2), "why"
assert twice(2) == 2 + 2
assert twice(2) == twice(2)
assert twice("é") == "éé" and twice(0) == 0
assert twice([1]) == [1, 1]
assert twice(2) == pytest.approx(4, abs=100)
assert twice(2) == pytest.approx(4, rel=2)
assert twice(2) == ANY
assert ANY == ANY
assert 1 < twice(2) == 4
assert 1 < twice(2) < 5
assert twice(2) < 5
assert twice(2) >= twice(2)
assert (
    twice(2)  # why
    == twice(2)
)
assert (n := twice(2)) == n
assert twice(1) != 3
assert twice(2) in [4]
assert "a" in twice("a")
assert b"a" in twice(b"a")
assert 5 not in [twice(2)]
assert twice(2)
assert not twice(0)
assert twice(0) == 1 or twice(2) == 4
assert fails is not None and isinstance(twice(1), int)
assert [].sort() is None
assert (twice(2) == 4) is True
assert all(twice(n) == n + n for n in range(3))
x = twice(1); assert x == 2; y = x
expected = 4; assert twice(2) == expected
n = 2; assert twice(n) == n + n
n = 0; assert twice(n) == n
with pytest.raises(ValueError): fails()
with pytest.raises(ValueError, match="no"): fails()
with pytest.raises(match="no|nothing"): fails()
with pytest.raises((ValueError, TypeError)) as caught: fails()
with pytest.raises(Exception): fails()
pytest.raises(ValueError, fails)
with pytest.warns(UserWarning): __import__("warnings").warn("x")
mocked().assert_called_once_with(1, "a")
mocked(n=twice).assert_called_with(ANY, ANY, n=twice)
mocked().assert_called_once()
Mock().assert_not_called()
Mock().assert_called_with if False else mocked().assert_called()
mocked().assert_has_calls([])
""".strip()
    .replace("\n    ", "\v    ")
    .replace("\n)", "\v)")
    .split("\n")
)


@pytest.mark.parametrize("body", ASSERTIONS)
def test_honest_code_fails_every_opposite(body: str) -> None:
    for seed in range(8):
        live = tried(function(body), "test_it", seed=seed, **HONEST)
        assert (live.hollow, live.unreached, live.judged.unlike) == ((), (), ())


@pytest.mark.parametrize(
    "body",
    [
        "assert twice(2) == 4",
        "assert twice(2) == twice(3)",
        "assert [1] == twice(2)",
        "assert twice(2) < 4",
        "assert 4 >= twice(2)",
        "assert twice(2) == 4 and twice",
        "for n in [1, 2]: assert twice(n) == str(n)",
    ],
)
def test_what_answers_true_to_everything_is_hollow(body: str) -> None:
    live = tried(function(body), "test_it", twice=lambda _: Deaf())
    assert live.hollow
    assert live.hollow[0].startswith(f"{PATH}:2: ")
    assert live.hollow[0].endswith(f": {PATH}::test_it still passes")
    assert "ANY" in body or tried(function(body), "test_it", twice=lambda _: ANY).hollow or "==" not in body


def test_the_verdict_names_what_was_changed() -> None:
    live = tried(function("assert twice(2) == 4"), "test_it", twice=lambda _: ANY)
    assert set(live.hollow) <= {f"{PATH}:2: 4 → {other}: {PATH}::test_it still passes" for other in (3, 5)}


class Complement:
    """All but what it was made of, rightly."""

    def __contains__(self, item: object) -> bool:
        return item != "x"


@pytest.mark.parametrize("body", ["assert 'c' in all_but_x", "assert object in all_but_x"])
def test_a_set_that_holds_almost_everything_is_no_cheat(body: str) -> None:
    live = tried(function(body), "test_it", all_but_x=Complement())
    assert (live.hollow, live.unreached) == ((), ())


def test_what_equals_every_answer_of_the_suite_is_hollow() -> None:
    """Whatever it refuses besides."""
    text = "def test_a():\n    assert twice('a') == 'aa'\ndef test_b():\n    assert twice('bc') == 'bcbc'\n"
    answers = {"aa", "bcbc"}

    class Answer(str):
        __slots__ = ()
        __hash__ = str.__hash__

        def __eq__(self, other: object) -> bool:
            return other in answers

    live = tried(text, "test_a", "test_b", twice=Answer)
    assert len(live.hollow) == 2


def test_async_tests() -> None:
    body = "m = AsyncMock()\nawait m(1)\nm.assert_awaited_once_with(1)\nassert await m(2) == await m(2)"
    live = tried(f"async {function(body)}", "test_it", **HONEST)
    assert live.hollow == live.unreached == ()


METHODS = """
self.assertEqual(twice(2), 4)
self.assertEqual(4, twice(2), "why")
self.assertEqual(twice(2), twice(2))
self.assertEqual(first=twice(2), second=4)
self.assertAlmostEqual(twice(2), 5, delta=3)
self.assertAlmostEqual(twice(2), 5, delta=twice(2))
self.assertCountEqual([twice(2)], [4])
self.assertListEqual([twice(2)], [twice(2)])
self.assertTrue(twice(2) == 4)
self.assertTrue(twice(2))
self.assertFalse(twice(0))
self.assertIn(4, [twice(2)])
self.assertNotIn(5, [twice(2)])
self.assertIs(twice, twice)
self.assertIsNone(None)
self.assertIsNotNone(twice(2))
self.assertIsInstance(twice(2), int)
self.assertGreater(twice(2), 3)
self.assertLessEqual(twice(2), 4)
self.assertNotEqual(twice(2), 3)
self.assertRegex(twice("a"), "a+")
with self.assertRaises(ValueError): fails()
with self.assertRaisesRegex(ValueError, "no (good|luck)"): fails()
with self.assertLogs("x"): __import__("logging").getLogger("x").error("y")
with self.subTest(n=1): self.assertEqual(twice(2), 4)
""".strip().split("\n")


@pytest.mark.parametrize("body", METHODS)
def test_honest_code_fails_every_opposite_of_a_method(body: str) -> None:
    text = "class TestIt(unittest.TestCase):\n" + textwrap.indent(function(body), "    ")
    text = text.replace("def test_it()", "def test_it(self)")
    for seed in range(8):
        live = tried(text, "TestIt::test_it", seed=seed, **HONEST)
        assert (live.hollow, live.unreached, live.judged.unlike) == ((), (), ())
