#!/usr/bin/env bash
# HealthCheckProgram of Slurm: measures the node's GPUs, and drains the node if one of them is outside its limits.
# It always ends with status 0, and says what it found by draining. Settings: strata.conf.
set -euo pipefail
trap 'exit 0' EXIT
# shellcheck source=docs/fleet/slurm/common.sh
. "$(dirname "$(readlink -f "$0")")/common.sh"

if out_of_service; then exit 0; fi

# Slurm may start a check while the last one still runs. The second one leaves the GPUs alone.
mkdir -p "$STRATA_STATE"
exec 9>"$STRATA_STATE/health-check.lock"
if ! flock --nonblock 9; then exit 0; fi

more=()
if [[ -n $STRATA_GPUS ]]; then more=(--gpus "$STRATA_GPUS"); fi
check "$STRATA_DEVICE" health-check "${more[@]}"
case $verdict in
passed) say "passed: $line" ;;
failed) drain "$line" ;;
*) say "could not tell, so not drained: $line" ;;
esac
