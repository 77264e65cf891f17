#!/usr/bin/env bash
# Has hwloc load and draw what `--format hwloc` writes; installs it on a Debian that has not got it.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v lstopo-no-graphics >/dev/null; then
    sudo=""
    if ((EUID != 0)); then sudo="sudo"; fi
    ${sudo} apt-get update --quiet
    ${sudo} apt-get install --quiet --yes --no-install-recommends hwloc-nox
fi
STRATA_NEEDS_HWLOC=1 cargo test --locked --test hwloc
