#!/usr/bin/env bash
# Installs librsvg's converter on a Debian that does not have it, and a font to draw with: a test lets it draw the pictures.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v rsvg-convert >/dev/null; then
    sudo=""
    if ((EUID != 0)); then sudo="sudo"; fi
    ${sudo} apt-get update --quiet
    ${sudo} apt-get install --quiet --yes --no-install-recommends librsvg2-bin fonts-dejavu-core
fi
