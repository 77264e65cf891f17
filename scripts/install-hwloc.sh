#!/usr/bin/env bash
# Installs hwloc on a Debian that does not have it: the tests of `--format hwloc` let it load and draw what is written.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v lstopo-no-graphics >/dev/null; then
    sudo=""
    if ((EUID != 0)); then sudo="sudo"; fi
    ${sudo} apt-get update --quiet
    ${sudo} apt-get install --quiet --yes --no-install-recommends hwloc-nox
fi
