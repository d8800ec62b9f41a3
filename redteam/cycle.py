"""Attacks on the cycle and on its validator, and honest cycles beside them, as scripts; see `scripts`."""

from __future__ import annotations

import argparse
import os
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

from redteam.scripts import SECONDS, Result, line, run, scripts_in, summary

OWN = Path(__file__).resolve().parent / "own_cycle"


def main() -> int:
    options = _options()
    folders = options.cases or [OWN]
    chosen = [s for folder in folders for s in scripts_in(folder) if options.only in f"{s.kind}/{s.name}"]
    if not chosen:
        print("no such scripts", file=sys.stderr)
        return 2
    results: list[Result] = []
    with ThreadPoolExecutor(options.jobs) as pool:
        for result in pool.map(lambda script: run(script, SECONDS), chosen):
            results.append(result)
            print(line(result), flush=True)
            if options.show:
                print(result.output)
    return summary(results)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--cases", type=Path, action="append", help="a folder of scripts; may be repeated")
    parser.add_argument("--only", default="", help="a part of class/name")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1)
    parser.add_argument("--show", action="store_true", help="print what each one said")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
