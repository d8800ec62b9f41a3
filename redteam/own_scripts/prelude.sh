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
another() { # language: an empty project of it, in place of the one above
  cd $TOP && rm -rf w && mkdir w && cd w && git init -q && LANGUAGE=$1
  case $1 in
    node) echo '{"type": "module", "scripts": {"test": "node --test"}}' > package.json;;
    go) printf 'module shop\n\ngo 1.21\n' > go.mod;;
    rust) printf '[package]\nname = "shop"\nversion = "0.1.0"\nedition = "2021"\n' > Cargo.toml; echo target > .gitignore;;
  esac
}
text() { mkdir -p "$(dirname $1)" && cat > $1; }
reds() { # commits what there is; tests follow on the call of `claim`
  git add -A && git commit -qm one && tdd init --yes --lang $LANGUAGE > /dev/null && commit init
}
claim() { # every valid red
  tdd test > /dev/null
  tdd status --json | python3 -c 'import json, sys; print(*[red["id"] for red in json.load(sys.stdin)["reds"]], sep="\n")' | while read -r id; do tdd claim "$id" > /dev/null; done
}
