# shellcheck shell=bash disable=SC2034
# What health-check.sh and prolog.sh share. They source this file; it does nothing by itself.

# slurmd gives its scripts nearly no environment.
export PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin

node=${SLURMD_NODENAME:-$(hostname -s)}

# The numbers of CUDA are then those of nvidia-smi and of Slurm.
export CUDA_DEVICE_ORDER=PCI_BUS_ID

recipe=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
# shellcheck source=docs/fleet/slurm/strata.conf
. "$recipe/strata.conf"
for settings in "${SLURM_CONF:+${SLURM_CONF%/*}/strata.conf}" /etc/slurm/strata.conf; do
    if [[ -n $settings && -f $settings ]]; then
        # shellcheck source=/dev/null
        . "$settings"
        break
    fi
done

# Says something in the system's log, if there is one, and on standard error.
say() {
    printf '%s\n' "$1" >&2
    logger --tag "strata-$node" -- "$1" 2>/dev/null || true
}

# Whether somebody, or Slurm, has already taken the node out of service, or the controller does not answer.
# Then the node keeps its state and its reason.
out_of_service() {
    local shown
    if ! shown=$(timeout 3 scontrol --oneliner show node "$node"); then
        say "the controller says nothing of $node; the node stays as it is"
        return 0
    fi
    local state=${shown##* State=}
    state=${state%% *}
    case $state in
    *DRAIN* | *FAIL*) return 0 ;;
    # A node that is down for a reason. A node that only starts has none.
    DOWN*) [[ $shown == *" Reason="* ]] ;;
    *) return 1 ;;
    esac
}

# Sets $verdict to passed, failed or unknown, and $line to one line for people, and keeps both.
# Usage: check DEVICE NAME [options of `strata check`]. STRATA_STATE/NAME.txt is then what strata said, NAME.last the verdict.
check() {
    judge "$@"
    printf '%s: %s\n' "$verdict" "$line" >"$STRATA_STATE/$2.last"
}

# A GPU in use, a missing policy, a run without an answer: unknown, which is no reason to drain.
judge() {
    local device=$1 name=$2 status=0
    local report=$STRATA_STATE/$name.txt
    mkdir -p "$STRATA_STATE"
    verdict=unknown line=
    local options=(--device "$device" --effort "$STRATA_EFFORT" --timeout "$STRATA_TIMEOUT" --exit-style diff)
    local policy
    for policy in "${STRATA_POLICIES[@]}"; do
        if [[ -f $policy ]]; then options+=(--policy "$policy"); fi
    done
    if [[ ${options[*]} != *--policy* ]]; then
        line="no policy: ${STRATA_POLICIES[*]:-none is set}"
        return
    fi
    timeout --kill-after=2 $((STRATA_TIMEOUT + 5)) "$STRATA" check "${options[@]}" "${@:3}" >"$report.new" 2>"$report.err" ||
        status=$?
    # The first line, without what a reason of Slurm cannot hold.
    line=$(head --lines=1 "$report.new" | tr --delete --complement '[:print:]' | cut --characters=1-200)
    mv "$report.new" "$report"
    case $status in
    0) verdict=passed ;;
    1) if [[ -n $line ]]; then verdict=failed; fi ;;
    esac
    if [[ -z $line ]]; then
        line="strata said nothing, status $status: $(tail --lines=1 "$report.err" | tr --delete --complement '[:print:]')"
    fi
}

# Drains the node with one line as the reason. It never resumes a node: that is for people.
drain() {
    if out_of_service; then
        say "already out of service, so not drained: $1"
        return
    fi
    say "drains: $1"
    timeout 3 scontrol update "NodeName=$node" State=DRAIN "Reason=strata: $1" || say "scontrol could not drain $node"
}
