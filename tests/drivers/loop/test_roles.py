"""What a role of the loop is told."""

from __future__ import annotations

from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.program import read_program

TEXT = """\
---
held-out: [bench/held.json]
---
## Goal
Fewer comparisons.

## Evaluation
```sh
python bench/run.py bench/known.json
```

### Held-out
```sh
python bench/run.py bench/held.json --seed 7
```
"""


def test_the_brief_is_program_and_playbook_without_what_is_held_back() -> None:
    strategies = {"s/strategy.md": "The playbook.", "s/prompts/write-test.md": "A prompt."}
    brief = FoundProgram(read_program("fast", TEXT), "program.md", TEXT, strategies).brief
    assert "Fewer comparisons." in brief
    assert "bench/known.json" in brief
    assert "The playbook." in brief
    assert "A prompt." not in brief
    assert "held" not in brief.casefold()
    assert "--seed 7" not in brief
