#!/usr/bin/env bash
# Measures the GPUs of many hosts by ssh, sixteen hosts at a time, and writes one result for each: FOLDER/HOST.json.
# Usage: collect.sh HOSTS FOLDER [options of `strata discover`]. HOSTS is a file with one host name on each line; `#` begins a
# comment. STRATA names the program on the hosts, STRATA_DEVICE the GPUs (default: all), SSH the command (default: ssh).
# Ends with status 1 if a host gave no result.
set -euo pipefail
hosts=${1:?the file with the hosts is missing}
export folder=${2:?the folder for the results is missing}
shift 2
export STRATA=${STRATA:-strata} STRATA_DEVICE=${STRATA_DEVICE:-all} SSH=${SSH:-ssh}
mkdir -p "$folder"

# The result comes by standard output and gets its name when it is complete. Status 4: only some questions were answered.
one() {
    local host=$1 status=0
    shift
    local part=$folder/.$host.part
    "$SSH" -o BatchMode=yes -o ConnectTimeout=10 "$host" "$(printf '%q ' "$STRATA" discover --device "$STRATA_DEVICE" \
        --format json --compact --quiet "$@")" >"$part" 2>"$folder/.$host.errors" </dev/null || status=$?
    if [[ ($status == 0 || $status == 4) && -s $part ]]; then
        mv "$part" "$folder/$host.json"
        rm "$folder/.$host.errors"
    else
        printf '%s: status %d: %s\n' "$host" "$status" "$(tail --lines=1 "$folder/.$host.errors")" >&2
        rm "$part" "$folder/.$host.errors"
        return 1
    fi
}
export -f one

# xargs ends with 123 if a host failed.
sed --regexp-extended 's/#.*//; s/[[:space:]]+//g; /^$/d' "$hosts" |
    xargs --max-procs=16 --replace=HOST bash -c 'one "$@"' one HOST "$@" || exit 1
