#!/usr/bin/env bash
# What strata does on a GPU that others use: alone, beside programs that compute, copy, hold memory or do nothing, beside another
# strata, and two at once. Recordings, results and logs go to the folder given (default: target/disturb); a table comes last.
# Needs a real GPU, target/release/strata and target/release/examples/load (or STRATA=... and LOAD=...); changes no setting.
#
# Before: cargo build --release && cargo build --release --package strata-cuda --example load
set -u
out=${1:-target/disturb}
strata=${STRATA:-target/release/strata}
load=${LOAD:-target/release/examples/load}
mkdir -p "$out/locks" "$out/other-locks"
export STRATA_LOCK_DIR="$out/locks"

"$strata" devices || exit 3
rows="$out/table.txt"
printf '%-22s %4s %7s %6s %8s  %-14s %-14s %s\n' variant exit seconds seen unknowns l2.size host.latency warnings >"$rows"

# A finding in the text of a replay: what stands between its name and the first comma, or `?`.
finding() {
	local value
	value=$(sed -n "s/^  $2: \([^,]*\),.*/\1/p" "$out/$1.txt" 2>/dev/null | head -n 1)
	echo "${value:-?}"
}

# discover NAME ARGUMENT...: a discovery, and its row.
discover() {
	local name=$1 begin end status unknowns seen warnings
	shift
	begin=$(date +%s.%N)
	"$strata" discover --format json --timings --record "$out/$name.strata" --output "$out/$name.json" "$@" 2>"$out/$name.log"
	status=$?
	end=$(date +%s.%N)
	: >"$out/$name.txt" 2>/dev/null
	[ -s "$out/$name.json" ] && "$strata" replay "$out/$name.strata" >"$out/$name.txt" 2>/dev/null
	unknowns=$(grep -o '"reason": *"another process used the GPU' "$out/$name.json" 2>/dev/null | wc -l)
	seen=$(grep -o '"sign": *"[a-z_]*"' "$out/$name.json" 2>/dev/null | wc -l)
	warnings=$(grep -c '^strata: warning' "$out/$name.log")
	printf '%-22s %4d %7.2f %6d %8d  %-14s %-14s %d\n' "$name" "$status" "$(echo "$end $begin" | awk '{print $1 - $2}')" \
		"$seen" "$unknowns" "$(finding "$name" 'l2 size')" "$(finding "$name" 'host latency.cycles')" "$warnings" >>"$rows"
}

# start MODE SECONDS: a load in the background, once it is ready.
loaded=
start() {
	"$load" "$1" "$2" >"$out/load-$1.log" 2>&1 &
	loaded=$!
	for _ in $(seq 100); do
		grep -q ready "$out/load-$1.log" && return
		kill -0 "$loaded" 2>/dev/null || break
		sleep 0.1
	done
	echo "load $1 is not ready:"
	cat "$out/load-$1.log"
}
stop() {
	kill "$loaded" 2>/dev/null
	wait "$loaded" 2>/dev/null
}

for run in 1 2 3 4 5; do discover "alone$run"; done
discover alone-quick --effort quick
discover alone-thorough --effort thorough

for mode in idle compute copy hold; do
	start $mode 300
	discover "beside-$mode"
	stop
done

# One that computes for a while only: without waiting, with waiting, and one that comes when the run has begun.
start compute 2
discover compute-ends
wait "$loaded"
start compute 6
discover compute-ends-wait --wait 60
wait "$loaded"
(
	sleep 1.5
	exec "$load" compute 1
) >"$out/load-comes.log" 2>&1 &
comes=$!
discover compute-comes
wait "$comes"

# Another strata that does not know of the lock.
(
	export STRATA_LOCK_DIR="$out/other-locks"
	while [ ! -e "$out/enough" ]; do "$strata" characterize --quiet --effort quick --output "$out/characterize.txt"; done
) >"$out/load-strata.log" 2>&1 &
other=$!
sleep 2
discover beside-strata
touch "$out/enough"
wait "$other"
rm "$out/enough"

# Two at once that do.
"$strata" discover --quiet --output "$out/first.txt" &
first=$!
sleep 0.5
discover two-at-once
wait "$first"
"$strata" discover --quiet --output "$out/first.txt" &
first=$!
sleep 0.5
discover two-at-once-wait --wait 60
wait "$first"
discover alone-last

echo
for log in "$out"/*.log; do
	grep -H 'another process\|busy\|not locked' "$log"
done
echo
cat "$rows"
