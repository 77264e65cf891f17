#!/usr/bin/env bash
# Prolog of Slurm: before a job starts, measures those of its GPUs whose last check is old. If one is outside its limits, it
# drains the node and ends with status 1, so that Slurm does not start the job there. Settings: strata.conf.
# Whatever else goes wrong, such as a full disk, lets the job start.
set -euo pipefail
refuse=0
trap 'exit "$refuse"' EXIT
# shellcheck source=docs/fleet/slurm/common.sh
. "$(dirname "$(readlink -f "$0")")/common.sh"

# A job without GPUs, or a list that is not one of numbers: nothing to measure.
if [[ ! ${SLURM_JOB_GPUS:-} =~ ^[0-9]+(,[0-9]+)*$ ]]; then exit 0; fi

devices=() stamps=()
IFS=, read -ra gpus <<<"$SLURM_JOB_GPUS"
for gpu in "${gpus[@]}"; do
    stamp=$STRATA_STATE/passed-$gpu
    if [[ -n $(find "$stamp" -mmin "-$STRATA_PROLOG_MINUTES" 2>/dev/null) ]]; then continue; fi
    devices+=("${STRATA_JOB_DEVICE//%/$gpu}")
    stamps+=("$stamp")
done
if ((${#devices[@]} == 0)); then exit 0; fi

check "$(IFS=,; echo "${devices[*]}")" "prolog-${gpus[0]}"
case $verdict in
passed) touch "${stamps[@]}" ;;
failed)
    refuse=1
    drain "$line"
    ;;
*) say "could not tell, so the job starts: $line" ;;
esac
