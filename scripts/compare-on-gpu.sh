#!/usr/bin/env bash
# Whether a change of the code left what is measured as it was, on a real GPU: three discoveries and one characterization, each
# compared with the committed recording. Recordings and reports go to the folder given (default: target/on-gpu); a short table
# comes last. Needs a built target/release/strata (or STRATA=...) and an NVIDIA driver; changes no setting of the GPU.
set -u
out=${1:-target/on-gpu}
strata=${STRATA:-target/release/strata}
mkdir -p "$out/runs"

"$strata" devices || exit 3
export CUDA_CACHE_DISABLE=1
for run in 1 2 3; do
	"$strata" discover --timings --format json --seed "$run" --record "$out/runs/run$run.strata" \
		--output "$out/runs/run$run.json" 2>"$out/runs/run$run.log" || echo "run $run: exit $?"
done
"$strata" characterize --timings --format json --record "$out/runs/characterize.strata" \
	--output "$out/runs/characterize.json" 2>"$out/runs/characterize.log" || echo "characterize: exit $?"
for name in run1 run2 run3; do
	"$strata" compare "$out/runs/$name.json" recordings/2026-11-21-h200.strata >"$out/runs/$name.compared.txt"
done
"$strata" compare "$out/runs/characterize.json" recordings/2026-11-22-h200-characterize.strata \
	>"$out/runs/characterize.compared.txt"
cp "$out/runs/run1.strata" "$out/run1.strata"
cp "$out/runs/characterize.strata" "$out/characterize.strata"
rm -f "$out/runs/"*.strata
tar -C "$out" -czf "$out/runs.tgz" runs
cat "$out/runs/run1.log"
for name in run1 run2 run3 characterize; do
	echo "== $name: $(tail -n 1 "$out/runs/$name.log")"
	head -n 40 "$out/runs/$name.compared.txt"
done
rm -r "$out/runs"
