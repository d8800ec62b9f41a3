from __future__ import annotations

import textwrap

import pytest

from support.alive import HONEST, function, tried

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
