#!/usr/bin/env bash
# Everything that needs a real GPU, in one go: discoveries with their recordings, the same again for repeatability, and the
# experiments behind docs/evidence/h200.md. Recordings and reports go to the folder given (default: target/on-gpu).
# Needs a built target/release/strata (or STRATA=...) and an NVIDIA driver; changes no setting of the GPU.
#
# Before: cargo build --release && cargo xtask evidence >target/evidence.json
# After:  cargo xtask repeatability OUT/run*.json; cargo xtask evidence OUT/evidence.strata
set -u
out=${1:-target/on-gpu}
strata=${STRATA:-target/release/strata}
evidence=${EVIDENCE:-target/evidence.json}
mkdir -p "$out/runs"

"$strata" devices || exit 3
export CUDA_CACHE_DISABLE=1
for run in 1 2 3 4 5; do
	"$strata" discover --timings --format json --record "$out/run$run.strata" --output "$out/runs/run$run.json" \
		2>"$out/runs/run$run.log" || echo "run $run: exit $?"
	tail -n 1 "$out/runs/run$run.log"
done
echo "with the driver's compile cache, second run:"
unset CUDA_CACHE_DISABLE
"$strata" discover --quiet --output "$out/runs/cached.txt"
"$strata" discover --timings --output "$out/runs/cached.txt" 2>&1 | tail -n 1
export CUDA_CACHE_DISABLE=1
for effort in quick thorough; do
	"$strata" discover --timings --effort $effort --format json --output "$out/runs/$effort.json" 2>&1 | tail -n 1
done
"$strata" measure "$evidence" --record "$out/evidence.strata" >"$out/runs/evidence.txt" || echo "evidence: exit $?"
cat "$out/runs/run1.log"
"$strata" replay "$out/run1.strata"
tar -C "$out" -czf "$out/runs.tgz" runs && rm -r "$out/runs"
