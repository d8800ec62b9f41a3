"""The first steps of the Bowling Game in Rust."""

from __future__ import annotations

from support.katas.script import Script

SOURCE = "src/lib.rs"
HEAD = "//! Bowling Game.\n\n"


def script() -> Script:
    play = Script(test_file="tests/scoring.rs")
    play.test(
        "show that a game without pins is zero",
        "The plainest game there is; it fixes how rolls are given and what comes back.",
        "use bowling_game::score;\n"
        "\n#[test]\n"
        "fn a_game_without_pins_is_zero() {\n"
        "    assert_eq!(score(&[0; 20]), 0);\n"
        "}\n",
        {SOURCE: HEAD + "pub fn score(_rolls: &[u32]) -> u32 {\n    999 // STUB:TDD\n}\n"},
    )
    play.implement(
        "score a game without pins",
        "One test asks for one value.",
        {SOURCE: HEAD + "pub fn score(_rolls: &[u32]) -> u32 {\n    0\n}\n"},
    )
    play.nothing("There is one line.")
    play.test(
        "show that pins are added up",
        "The first rule: without spares and strikes a game is the sum of its pins.",
        "\n#[test]\nfn pins_are_added_up() {\n    assert_eq!(score(&[1; 20]), 20);\n}\n",
    )
    play.implement(
        "add up the pins",
        "The sum is right for every game without spares and strikes.",
        {SOURCE: HEAD + "pub fn score(rolls: &[u32]) -> u32 {\n    rolls.iter().sum()\n}\n"},
    )
    play.nothing("A sum is a sum.")
    _spare(play)
    return play


def _spare(play: Script) -> None:
    play.test(
        "show that a spare counts the next roll once more",
        "The second rule, with the spare in the first frame.",
        "\n#[test]\n"
        "fn a_spare_counts_the_next_roll_once_more() {\n"
        "    let mut rolls = [0; 20];\n"
        "    rolls[..3].copy_from_slice(&[6, 4, 3]);\n"
        "    assert_eq!(score(&rolls), 16);\n"
        "}\n",
    )
    play.implement(
        "count the roll after a spare once more",
        "A spare is known by its frame, so the rolls are walked frame by frame.",
        {
            SOURCE: HEAD + "pub fn score(rolls: &[u32]) -> u32 {\n"
            "    let mut total = 0;\n"
            "    for frame in 0..10 {\n"
            "        let at = 2 * frame;\n"
            "        total += rolls[at] + rolls[at + 1];\n"
            "        if rolls[at] + rolls[at + 1] == 10 {\n"
            "            total += rolls[at + 2];\n"
            "        }\n"
            "    }\n"
            "    total\n"
            "}\n"
        },
    )
    play.refactor(
        "give frames and spares their names",
        "The pins of a frame are added up twice, and what ten of them mean is nowhere said.",
        {
            SOURCE: HEAD + "const FRAMES: usize = 10;\n"
            "const PINS: u32 = 10;\n"
            "\n"
            "pub fn score(rolls: &[u32]) -> u32 {\n"
            "    (0..FRAMES).map(|frame| frame_score(&rolls[2 * frame..])).sum()\n"
            "}\n"
            "\n"
            "fn frame_score(rolls: &[u32]) -> u32 {\n"
            "    let pins = rolls[0] + rolls[1];\n"
            "    let is_spare = pins == PINS;\n"
            "    if is_spare {\n"
            "        pins + rolls[2]\n"
            "    } else {\n"
            "        pins\n"
            "    }\n"
            "}\n"
        },
    )
