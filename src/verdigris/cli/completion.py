"""`tdd completion`: prints the completion script of a shell."""

from __future__ import annotations

import click

WHERE = {
    "bash": 'put this into ~/.bashrc:  eval "$(tdd completion bash)"',
    "zsh": 'put this into ~/.zshrc, after compinit:  eval "$(tdd completion zsh)"',
    "fish": "run:  tdd completion fish > ~/.config/fish/completions/tdd.fish",
}
# click's own script for bash shows either paths or words, and breaks at the `::` of a test id, because bash
# takes a colon for the end of a word. So the word is read from the line, and bash is given only what follows
# the last colon.
_BASH = r"""
_tdd_completion() {
    local line=${COMP_LINE:0:COMP_POINT} colon= type value words
    local cur=${line##*[[:space:]]}
    read -ra words <<< "$line"
    local cword=${#words[@]}
    [[ -n $cur ]] && ((cword--))
    [[ $cur == *:* && $COMP_WORDBREAKS == *:* ]] && colon=${cur%"${cur##*:}"}
    COMPREPLY=()
    while IFS=, read -r type value; do
        if [[ $type == plain ]]; then
            printf -v value %q "$value"
            COMPREPLY+=("${value#"$colon"}")
        elif [[ $type == file || $type == dir ]]; then
            while IFS= read -r value; do
                if [[ -d $value ]]; then
                    value+=/
                    compopt -o nospace
                fi
                COMPREPLY+=("$value")
            done < <(compgen -f -- "$cur")
        fi
    done < <(COMP_WORDS=$line COMP_CWORD=$cword _TDD_COMPLETE=bash_complete "$1")
}
complete -o bashdefault -o default -F _tdd_completion tdd
"""


@click.command("completion")
@click.argument("shell", type=click.Choice(sorted(WHERE)))
def command(shell: str) -> int:
    """Print the completion script of SHELL, and say where to put it."""
    click.echo(f"# {WHERE[shell]}")
    click.echo(_BASH.strip() if shell == "bash" else _clicks_own(shell))
    return 0


def _clicks_own(shell: str) -> str:
    from click.shell_completion import get_completion_class

    from verdigris.cli.group import tdd

    found = get_completion_class(shell)
    assert found is not None  # noqa: S101 - the choices are click's own shells
    return found(tdd, {}, "tdd", "_TDD_COMPLETE").source()
