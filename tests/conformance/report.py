"""Prints how many recorded cases pass: `python -m tests.conformance.report [-v] [case ...]`."""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from collections.abc import Sequence

from execution_engine import discover_registry
from tests.conformance.compare import first_difference
from tests.conformance.runner import load_cases, run_case, what_is_missing


def main(arguments: Sequence[str]) -> int:
    """Runs the cases and prints a line an area and a line a failure; 1 when a case fails."""
    parser = argparse.ArgumentParser(description="Runs the recorded workflow cases.")
    parser.add_argument("-v", "--verbose", action="store_true", help="list what is skipped too")
    parser.add_argument("cases", nargs="*", help="ids of cases; all when none is given")
    options = parser.parse_args(arguments)
    registry = discover_registry()
    areas: dict[str, dict[str, int]] = defaultdict(lambda: {"pass": 0, "fail": 0, "skipped": 0})
    lines: list[str] = []
    for case in load_cases():
        if options.cases and case["id"] not in options.cases:
            continue
        missing = what_is_missing(case, registry)
        difference = None if missing else first_difference(case, run_case(case, registry))
        outcome = "skipped" if missing else "fail" if difference else "pass"
        areas[case["area"]][outcome] += 1
        if difference:
            lines.append(f"FAIL {case['id']}: {difference}")
        elif missing and options.verbose:
            lines.append(f"SKIP {case['id']}: {missing}")
    for area, counts in sorted(areas.items()):
        lines.append(f"{area:16}" + "".join(f"{count:4} {name}" for name, count in counts.items()))
    total = {
        name: sum(counts[name] for counts in areas.values()) for name in ("pass", "fail", "skipped")
    }
    lines.append(f"{'all':16}" + "".join(f"{count:4} {name}" for name, count in total.items()))
    sys.stdout.write("\n".join(lines) + "\n")
    return 1 if total["fail"] else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
