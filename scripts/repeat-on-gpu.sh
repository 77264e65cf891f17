#!/usr/bin/env bash
# Whether results of one GPU agree: ten discoveries in ten processes, in a random order of seeds, and every pair compared.
# Results go to the folder given (default: target/repeat), recordings packed three to a file; a table comes last.
# Needs a built target/release/strata (or STRATA=...) and an NVIDIA driver; changes no setting of the GPU.
#
# After:  cargo xtask repeatability OUT/runs/*.json
set -u
out=${1:-target/repeat}
runs=${RUNS:-10}
strata=${STRATA:-target/release/strata}
mkdir -p "$out/runs" "$out/recordings"

"$strata" devices || exit 3
export CUDA_CACHE_DISABLE=1
for seed in $(shuf --input-range="1-$runs"); do
	"$strata" discover --timings --format json --seed "$seed" --record "$out/recordings/$seed.strata" \
		--output "$out/runs/$seed.json" 2>"$out/runs/$seed.log" || echo "seed $seed: exit $?"
done
differ=0 pairs=0
for ((a = 1; a <= runs; a++)); do
	for ((b = a + 1; b <= runs; b++)); do
		pairs=$((pairs + 1))
		if ! "$strata" compare "$out/runs/$a.json" "$out/runs/$b.json" >"$out/pair.txt"; then
			differ=$((differ + 1))
			echo "== seeds $a and $b"
			sed -n '/^Different values/,/^$/p' "$out/pair.txt"
		fi
	done
done >"$out/runs/pairs.txt"
rm -f "$out/pair.txt"
for ((a = 1; a <= runs; a += 3)); do
	names=()
	for ((b = a; b < a + 3 && b <= runs; b++)); do names+=("$b.strata"); done
	tar -C "$out/recordings" -cf "$out/recordings-$a.tar" "${names[@]}"
done
rm -r "$out/recordings"
grep -h '^ *[a-z_0-9]* differ\|^  ' "$out/runs/pairs.txt" | sed 's/:.*//' | sort | uniq -c | sort -rn
grep -h -i 'total' "$out"/runs/*.log
tar -C "$out" -czf "$out/runs.tgz" runs
rm -r "$out/runs"
echo "$differ of $pairs pairs differ"
