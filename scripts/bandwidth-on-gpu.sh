#!/usr/bin/env bash
# Measures the bandwidth and the atomics a second of the first GPU several times, and prints a short table: for each rate the median,
# the spread of the runs, and in how many pairs of runs the intervals overlap. Recordings and results go to $OUT, packed.
#
# RUNS: how often (6). STRATA: the program (target/release/strata). ONLY: elements (all). RECORDINGS: 0 packs the results alone.
set -euo pipefail
STRATA=${STRATA:-target/release/strata}
RUNS=${RUNS:-6}
OUT=${OUT:-bandwidth}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
mkdir -p "$OUT"
for run in $(seq "$RUNS"); do
    "$STRATA" discover --bandwidth=on --quiet --seed "$run" --no-host-facts --record "$work/$run.strata" --format json --output "$work/$run.json" \
        --timings ${ONLY:+--only "$ONLY"} 2> "$work/$run.log"
    tail -n 1 "$work/$run.log"
done
if [ "${RECORDINGS:-1}" = 0 ]; then rm "$work"/*.strata; fi
tar -C "$work" -czf "$OUT/bandwidth.tgz" .
python3 - "$work" <<'PYTHON'
import itertools, json, math, pathlib, statistics, sys

runs = [json.loads(path.read_text()) for path in sorted(pathlib.Path(sys.argv[1]).glob("*.json"))]
print(runs[0]["device"]["name"], runs[0]["device"]["uuid"])
found = {}
for run in runs:
    for element, attributes in run["elements"].items():
        for key, value in attributes.items():
            if key.endswith("_bandwidth") or key.startswith("atomic_throughput") or key.endswith("loaded_latency"):
                by_unit = {"": value} if "value" in value else {f".{unit}": finding for unit, finding in value.items()}
                for unit, finding in by_unit.items():
                    found.setdefault((element, f"{key}{unit}"), []).append(finding)
            elif key in ("bytes_in_flight", "saturating_sms", "effective_size", "latency_doubles_at", "outstanding_loads"):
                found.setdefault((element, key), []).append(value)
for (element, key), findings in found.items():
    known = [finding for finding in findings if finding["value"] is not None]
    if not known:
        print(f"{element:12} {key:66} unknown: {findings[0]['reason']}")
        continue
    for finding in findings:
        if finding["value"] is None:
            print(f"{element:12} {key:66} unknown once: {finding['reason']}")
    values = [finding["value"] for finding in known]
    pairs = list(itertools.combinations(known, 2))
    ends_of = lambda finding: (finding.get("low", -math.inf), finding.get("high", math.inf))
    within = lambda a, b: ends_of(a)[0] <= b["value"] <= ends_of(a)[1]
    agree = sum(ends_of(a)[0] <= ends_of(b)[1] and ends_of(b)[0] <= ends_of(a)[1] for a, b in pairs)
    inside = sum(within(a, b) and within(b, a) for a, b in pairs)
    middle = statistics.median(values)
    spread = 100 * (max(values) - min(values)) / middle
    ends = f"{min(finding.get('low') or 0 for finding in known):.4g} to {max(finding.get('high') or 0 for finding in known):.4g}"
    print(f"{element:12} {key:66} {middle:12.5g} {spread:6.2f} %  {agree}/{len(pairs)} overlap, {inside} inside; {ends}")
PYTHON
