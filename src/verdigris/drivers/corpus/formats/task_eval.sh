#!/bin/bash
set -uxo pipefail
cd /testbed
git apply --whitespace=nowarn -v - <<'{end}'
{tests}{end}
: '>>>>> Start Test Output'
{command}
: '>>>>> End Test Output'
git apply --whitespace=nowarn -R -v - <<'{end}'
{tests}{end}
