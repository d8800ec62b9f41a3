#!/bin/sh
# Written by `tdd init --pre-push`; `tdd uninit` takes it away. `git push --no-verify` pushes without it.
# It audits what is about to be pushed. The hook that was here before is beside it, and is asked first.
refs=$(cat)
earlier="$(dirname "$0")/pre-push.before-tdd"
if [ -x "$earlier" ]; then
  printf '%s\n' "$refs" | "$earlier" "$@" || exit $?
fi
if ! [ -x {python} ]; then
  echo "tdd: {python} is gone, so this push is not audited." >&2
  echo "hint: \`tdd init --pre-push\` writes the hook anew" >&2
  exit 0
fi
printf '%s\n' "$refs" | {python} -m verdigris audit pre-push "$@"
