"""What a role of the loop is told."""

from __future__ import annotations

from verdigris.drivers.loop.discovery import FoundProgram
from verdigris.drivers.loop.history import ProgramState
from verdigris.drivers.loop.program import read_program
from verdigris.drivers.loop.tasks import TESTER, task_of

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


STATE = """\
## 🎯 Current Priorities

Empty inputs first.

## 📚 Lessons Learned

- NaN sorts last.
- A person's own lesson.
"""


def test_people_speak_to_roles_by_the_state_file() -> None:
    found = FoundProgram(read_program("fast", TEXT), "program.md", TEXT, {})
    state = ProgramState("fast", lessons=("NaN sorts last.", "Zero is no step."))
    notes = task_of(TESTER, 1, found, state, STATE).notes
    assert notes[0] == "Current priorities:\nEmpty inputs first."
    assert notes[1].splitlines() == [
        "Lessons of earlier iterations:",
        "- NaN sorts last.",
        "- A person's own lesson.",
        "- Zero is no step.",
    ]
    assert task_of(TESTER, 1, found, ProgramState("fast"), "").notes == ()
