# A project in Python with an agent's client, and how that client makes its calls.
export TOP=$PWD X=$PWD/x HOME=$PWD/home
mkdir -p w x home
git config --global user.name a && git config --global user.email a@example.invalid && git config --global init.defaultBranch main
cd w && mkdir src tests && touch src/__init__.py
printf '[tool.pytest.ini_options]\npythonpath = ["."]\n' > pyproject.toml
printf 'def area(a, b):\n    return 0\n' > src/room.py
printf 'WIDE = 6\n' > tests/sizes.py
printf 'from src.room import area\n\n\ndef test_area():\n    assert area(2, 3) == 6\n' > tests/test_room.py
printf '__pycache__/\n.pytest_cache/\n' > .gitignore
commit() { git add -A && git commit -qm "${1:-more}"; }
begin() { git init -q && commit one && tdd init --yes --lang python --agent claude > /dev/null && commit init; }
ask() { printf '{"hook_event_name":"%s","session_id":"s","cwd":"%s","tool_name":"%s","tool_input":%s}' "$1" "$PWD" "$2" "$3" | .git/tdd/hook claude "$1"; }
agent() { ask PreToolUse Bash '{"command":"x"}'; echo; .git/tdd/shell "$1"; ask PostToolUse Bash '{"command":"x"}'; echo; }
json() { python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))'; }
writes() { # path; the text on stdin: as the client's file tool
  text=$(cat); given="{\"file_path\":\"$PWD/$1\",\"content\":$(printf '%s\n' "$text" | json)}"
  said=$(ask PreToolUse Write "$given") || return 1
  case $said in *'"deny"'*) echo "denied: $said"; return 1;; esac
  mkdir -p "$(dirname "$1")"; printf '%s\n' "$text" > "$1"; ask PostToolUse Write "$given"; echo
}
claimed() { tdd test > /dev/null; tdd claim tests/test_room.py::test_area src/ > /dev/null; }
honest() { printf 'def area(a, b):\n    return a * b\n' > src/room.py; }
accepted() { tdd settle | tee $X/out; grep -q '● accepted$' $X/out; }
unseen() { tdd status --json | python3 -c 'import json, sys; s = json.load(sys.stdin); sys.exit(bool(s["unclaimed"] or s["violations"]))'; }
own_limits() { # before limits are changed: never those of the machine; the runner gives a user namespace
  read -r _ _ ids < /proc/self/uid_map; [ "$ids" = 1 ] || { echo "WORKED: not tried, since the limits are the machine's"; exit; }
}
base() { # the code that an agent refactors, on stdin, and its test
  cat > src/room.py; printf '%b' "$1" > tests/test_room.py; begin; agent 'tdd refactor begin' > /dev/null
}
node_base() { # the same, in Node
  rm -r src/* tests/* pyproject.toml; printf '{"name": "w", "type": "module", "scripts": {"test": "node --test"}}\n' > package.json
  cat > src/x.js; printf "import test from 'node:test';\nimport assert from 'node:assert/strict';\nimport { f } from '../src/x.js';\n$1\n" > tests/x.test.js
  git init -q && commit one && tdd init --yes --lang node --agent claude > /dev/null && commit init; agent 'tdd refactor begin' > /dev/null
}
go_base() { # the same, in Go
  rm -r src tests pyproject.toml; printf 'module w\n\ngo 1.21\n' > go.mod; cat > x.go; printf "package w\n\nimport \"testing\"\n\nfunc TestF(t *testing.T) {\n$1\n}\n" > x_test.go
  git init -q && commit one && tdd init --yes --lang go --agent claude > /dev/null && commit init; agent 'tdd refactor begin' > /dev/null
}
refactored() { cat > "$1"; agent 'tdd refactor end' | tee $X/out; grep -q '● accepted$' $X/out; } # the new code on stdin
# Cases about verdicts begin anew, in a language of their choice, and say what came of them.
put() { mkdir -p "$(dirname "$1")"; cat > "$1"; }
project() {
  cd "$TOP" && rm -rf w && mkdir w && cd w && L=$1
  case $L in
    python) mkdir src tests; touch src/__init__.py; printf '[tool.pytest.ini_options]\npythonpath = ["."]\n' > pyproject.toml;;
    node) echo '{"private": true, "type": "module", "scripts": {"test": "node --test"}}' > package.json;;
    go) printf 'module w\n\ngo 1.19\n' > go.mod;;
    rust) printf '[package]\nname = "w"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml; printf 'target\nCargo.lock\n' > .gitignore;;
  esac
}
law() { git init -q; commit one; tdd init --yes --lang "$L" > /dev/null; commit init; [ "$L" != go ] || lend; }
lend() { # Go's own packages, compiled: that takes longer than all that is tried here
  known=$(eval "echo ~$(id -un)")/.cache/verdigris/test-tools/go-$(go env GOVERSION)/cache; [ -d "$known" ] || return 0
  mine=$(python3 -c 'from pathlib import Path; from verdigris.execution.tools.runs import cache_folder; print(cache_folder(Path(".git/tdd"), "go"))')
  mkdir -p "$mine"; cp -a "$known" "$mine/"
}
reds() { tdd test > "$X/red"; tdd status --json | python3 -c 'import json, sys; print(*[r["id"] for r in json.load(sys.stdin)["reds"]], sep="\n")' | while read -r id; do tdd claim "$id"; done; }
proved() { if accepted && eval "$1"; then echo WORKED; else echo DEFEATED; fi; } # a command that shows that it is wrong
kept() { tdd refactor end | tee "$X/out"; if grep -q '● accepted$' "$X/out" && eval "$1"; then echo WORKED; else echo DEFEATED; fi; }
served() { accepted || echo REFUSED; }
says() { python3 -c "$1" 2>&1 | grep -q -- "$2"; }
