"""A user's own hooks run through the prefix, too, and are confined like all else."""

from __future__ import annotations

from support.shelled import SOURCE, Shelled


def test_what_stopped_a_users_hook_is_explained_and_its_word_stands(one: Shelled) -> None:
    hook = {"CLAUDE_PROJECT_DIR": str(one.root)}
    stopped = one.run("echo x >> tdd.yaml; echo no >&2; exit 2", env=hook)
    assert stopped.code == 2
    assert "Read-only file system" in stopped.err
    assert "no\n[tdd] a hook of the user's could not write there" in stopped.err
    edited = one.run(f"echo x >> {SOURCE}; echo no >&2; exit 2", env=hook)
    assert edited.code == 2
    assert f"no\n[tdd] Put back: {SOURCE}" in edited.err
    refused = one.run("cat; echo no >&2; exit 2", stdin=b"{}", env=hook)
    assert (refused.code, refused.out, refused.err) == (2, "{}", "no\n")


def test_an_agents_command_is_left_as_it_is(one: Shelled) -> None:
    assert "[tdd]" not in one.run("echo x >> tdd.yaml").err
