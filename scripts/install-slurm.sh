#!/usr/bin/env bash
# Installs Slurm and munge on a Debian that does not have them: `.ci/slurm` runs the recipes of docs/fleet/slurm.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v slurmctld >/dev/null || ! command -v slurmd >/dev/null || ! command -v munged >/dev/null; then
    sudo=""
    if ((EUID != 0)); then sudo="sudo --non-interactive"; fi
    ${sudo} apt-get update --quiet
    ${sudo} env DEBIAN_FRONTEND=noninteractive apt-get install --quiet --yes --no-install-recommends slurm-wlm munge
fi
