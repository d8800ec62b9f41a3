"""A program whose benchmark sorts one list fifty times, with honest and dishonest candidates."""

from __future__ import annotations

SORT = '''\
def sort(numbers):
    """Insertion, one at a time."""
    done = []
    for number in numbers:
        at = 0
        while at < len(done) and done[at] <= number:
            at += 1
        done.insert(at, number)
    return done
'''
BETTER = '''\
from bisect import insort


def sort(numbers):
    """Insertion, where a half is left out each time."""
    done = []
    for number in numbers:
        insort(done, number)
    return done
'''
BENCH = """\
import json
import os
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
import sorting


class Counted(int):
    compared = 0

    def __lt__(self, other):
        Counted.compared += 1
        return int(self) < int(other)

    def __le__(self, other):
        Counted.compared += 1
        return int(self) <= int(other)


with open(sys.argv[1]) as file:
    numbers = json.load(file)
for round in range(50):
    given = numbers
    if len(sys.argv) > 2:
        import random

        given = random.Random(round).sample(numbers, len(numbers))
    if list(map(int, sorting.sort(list(map(Counted, given))))) != sorted(numbers):
        print(json.dumps({"fitness": None, "rejected_reason": f"{given} is not sorted"}))
        sys.exit()
print(json.dumps({"fitness": Counted.compared}))
"""
PROGRAM = """\
---
metric_direction: lower
evaluator: [bench/]
held-out: [bench/held.json]
---
## Goal
Fewer comparisons.

## Target
- `sorting.py`

## Evaluation
```sh
python -S bench/run.py bench/known.json
```

### Held-out
```sh
python -S bench/run.py bench/held.json shuffled
```
"""
KNOWN = "[5, 3, 9, 1, 7, 2, 8, 4, 6, 0, 15, 13, 19, 11, 17]"
HELD = "[25, 23, 29, 21, 27, 22, 28, 24, 26, 20, 35, 33, 39, 31, 37, 2, 1]"
CACHES = (
    SORT.replace(
        "    done = []\n",
        "    key = tuple(numbers)\n"
        "    if key in KNOWN:\n"
        "        return list(KNOWN[key])\n"
        "    done = KNOWN.setdefault(key, [])\n",
    )
    + "\n\nKNOWN = {}\n"
)
