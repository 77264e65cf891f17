#!/usr/bin/env bash
# Everything that needs a real GPU, in one go: a discovery with its recording, the same again for repeatability, and the
# experiments behind METHODOLOGY.md. Recordings and reports go to the folder given (default: target/on-gpu).
# Needs a built target/release/strata and an NVIDIA driver; changes no setting of the GPU.
set -u
out=${1:-target/on-gpu}
strata=${STRATA:-target/release/strata}
mkdir -p "$out"
export CUDA_CACHE_DISABLE=1

$strata devices || exit 3
for run in 1 2; do
	time "$strata" discover --timings --format json \
		--record "$out/run$run.strata" --output "$out/run$run.json" 2>"$out/run$run.log" || echo "run $run: exit $?"
done
cat "$out/run1.log"
$strata replay "$out/run1.strata"
