#!/usr/bin/env bash
# What access patterns cost on a real GPU: every part alone, the suite three times, the other efforts. The recording of the first
# run of the suite and all reports go to the folder given (default: target/on-gpu). A short table comes last.
# Needs a built target/release/strata (or STRATA=...) and an NVIDIA driver; changes no setting of the GPU.
set -u
out=${1:-target/on-gpu}
strata=${STRATA:-target/release/strata}
mkdir -p "$out/reports"

"$strata" devices || exit 3
export CUDA_CACHE_DISABLE=1
for part in locality synchronization coalescing spilling banks constant read_only texture_2d histogram intensity texture_3d operands; do
	"$strata" characterize --only $part --timings --format json --output "$out/reports/$part.json" 2>"$out/reports/$part.log" ||
		echo "$part: exit $?"
	echo "$part: $(tail -n 1 "$out/reports/$part.log")"
done
for run in 1 2 3; do
	"$strata" characterize --timings --format json --record "$out/reports/run$run.strata" \
		--output "$out/reports/run$run.json" 2>"$out/reports/run$run.log" || echo "run $run: exit $?"
	echo "run $run: $(tail -n 1 "$out/reports/run$run.log")"
done
mv "$out/reports/run1.strata" "$out/characterize.strata"
rm -f "$out/reports/"run[23].strata
for effort in quick thorough; do
	"$strata" characterize --timings --effort $effort --format json --output "$out/reports/$effort.json" \
		2>"$out/reports/$effort.log" || echo "$effort: exit $?"
	echo "$effort: $(tail -n 1 "$out/reports/$effort.log")"
done
tar -C "$out" -czf "$out/reports.tgz" reports && rm -r "$out/reports"
"$strata" replay "$out/characterize.strata" | sed -n '/^Intervals/,$p'
