# A project in Python with an active spec of two scenarios, and the honest work of each stage of a cycle on it.
export TOP=$PWD X=$PWD/x HOME=$PWD/home
mkdir -p w x home
git config --global user.name a && git config --global user.email a@example.invalid && git config --global init.defaultBranch main
cd w && mkdir src tests specs && touch src/__init__.py
printf '[tool.pytest.ini_options]\npythonpath = ["."]\n' > pyproject.toml
printf '__pycache__/\n.pytest_cache/\n' > .gitignore
printf 'def test_start():\n    assert 1 + 1 == 2\n' > tests/test_start.py
cat > specs/price.md << 'SPEC'
---
id: SPEC-001
status: active
---
# Prices

### Requirement: Net
#### Scenario: A taxed price
- **WHEN** the gross price is 119
- **THEN** the net price is 100

#### Scenario: A price of nothing
- **WHEN** the gross price is 0
- **THEN** the label says free
SPEC
TAXED='SPEC-001#net/a-taxed-price' FREE='SPEC-001#net/a-price-of-nothing'
PLAN=.tdd/plans/spec-001.md
commit() { git add -A && git commit -qm "${1:-more}"; }
begin() { git init -q && commit one && tdd init --yes --lang python --agent claude > /dev/null 2>&1 && commit init; }
planned() { # stage red
  begin; tdd cycle start specs/price.md --as planner > $X/out || cat $X/out
  mkdir -p .tdd/plans; printf '## %s\n- assert: the net price is one hundred\n- edge: a price of one cent\n\n## %s\n- assert: the label says free\n- edge: a price below nothing\n' $TAXED $FREE > $PLAN
  tdd cycle advance --as planner > $X/out || cat $X/out
  printf 'def net(gross):\n    return None  # STUB:TDD\n\n\ndef label(gross):\n    return None  # STUB:TDD\n' > src/price.py
}
tests() { # the bodies of the two tests
  printf 'import pytest\nfrom unittest import mock\nfrom src import price\nfrom src.price import label, net\n\n\n# @scenario: %s\ndef test_taxed():\n    %b\n\n\n# @scenario: %s\ndef test_free():\n    %b\n' $TAXED "$1" $FREE "$2" > tests/test_price.py
}
HONEST_TAXED='assert net(119) == 100' HONEST_FREE='assert label(0) == "free"'
written() { planned; tests "$HONEST_TAXED" "$HONEST_FREE"; }
handed() { tdd test > /dev/null; tdd cycle advance --as author; }
passes() { tdd cycle validate --as validator; }
validated() { written; handed > $X/out && passes > $X/out || cat $X/out; }
frozen() { validated; tdd cycle freeze --as validator > $X/out || cat $X/out; }
code() { printf 'def net(gross):\n    return round(gross / 1.19)\n\n\ndef label(gross):\n    return "free" if gross == 0 else f"{gross} EUR"\n' > src/price.py; }
proven() { frozen; code; TDD_CONTEXT=coder tdd settle > $X/out || cat $X/out; }
finished() { proven; tdd cycle advance --as coder > $X/out || cat $X/out; }
weak() { planned; tests "$1" "$HONEST_FREE"; handed && passes && echo WORKED; true; }
ask() { printf '{"hook_event_name":"%s","session_id":"s","cwd":"%s","tool_name":"%s","tool_input":%s}' "$1" "$PWD" "$2" "$3" | .git/tdd/hook claude "$1"; }
agent() { ask PreToolUse Bash '{"command":"x"}'; echo; CLAUDECODE=1 CLAUDE_CODE_SESSION_ID=s .git/tdd/shell "$1"; ask PostToolUse Bash '{"command":"x"}'; echo; }
json() { python3 -c 'import json, sys; print(json.dumps(sys.stdin.read()))'; }
writes() { # path; the text on stdin: as the client's file tool
  text=$(cat); given="{\"file_path\":\"$PWD/$1\",\"content\":$(printf '%s\n' "$text" | json)}"
  said=$(ask PreToolUse Write "$given") || return 1
  case $said in *'"deny"'*) echo "denied: $said"; return 1;; esac
  mkdir -p "$(dirname "$1")"; printf '%s\n' "$text" > "$1"; ask PostToolUse Write "$given"; echo
}
stage() { tdd cycle status --json | python3 -c 'import json, sys; print(json.load(sys.stdin).get("phase"))'; }
