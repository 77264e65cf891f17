#!/usr/bin/env bash
# HTML reports of recordings and of a simulated machine, and the pages of comparisons, in a headless Chromium: see
# xtask/src/browser_test.rs.
# Installs Debian's chromium if there is none. STRATA names the binary (default: that of a release build, made here), XTASK that of
# xtask (default: made here). With SCREENSHOTS=DIR, pictures of the pages go there. ALL=1 takes every recording.
set -euo pipefail
cd "$(dirname "$0")/.."

if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
    apt-get update -qq
    apt-get install -y -qq --no-install-recommends chromium fonts-dejavu-core >/dev/null
fi
if [[ -z ${STRATA:-} ]]; then
    cargo build --release --locked
    STRATA=${CARGO_TARGET_DIR:-target}/release/strata
fi

pages=$(mktemp -d)
trap 'rm -rf "$pages"' EXIT
for recording in recordings/*.strata; do
    # A page takes seconds to minutes. These have the same elements and plots as a later one, or as that of another GPU.
    case ${ALL:-}$(basename "$recording" .strata) in
    2026-11-2[12]-h200 | 2026-11-22-h200-characterize | *-h100-[!at]*) continue ;;
    esac
    page=$pages/$(basename "$recording" .strata).html
    # What experiments alone cannot answer is warned of, which is another test's matter. A run that answers only in part
    # (status 4) has no rows to filter and no plots.
    status=0
    "$STRATA" replay "$recording" --format html --output "$page" 2>/dev/null || status=$?
    case $status in
    0) ;;
    4) rm "$page" ;;
    *) exit "$status" ;;
    esac
done
"$STRATA" discover --device sim:k20c --only l1 --effort quick --quiet --format html --output "$pages/sim-k20c.html"

# Exit status 1: something differs.
results=(recordings/*-h200.json recordings/*-h200-characterize.json)
compared() {
    local page=$1
    shift
    "$STRATA" compare "$@" --format html --output "$pages/$page.html" || [[ $? -eq 1 ]]
}
compared compared-two "${results[0]}" "${results[1]}"
compared compared-several "${results[@]}"
compared compared-published "${results[0]}"

limit=$((3 * 1000 * 1000))
for page in "$pages"/*.html; do
    size=$(stat --format=%s "$page")
    if ((size >= limit)); then
        echo "error: $(basename "$page") has $size bytes, not less than $limit" >&2
        exit 1
    fi
done
${XTASK:-cargo xtask} browser-test "$pages"/*.html
