#!/usr/bin/env bash
# Builds the Python wheel into target/wheels, or into the folder WHEELS: the module, the program with its manual pages, and completions
# for bash. Arguments go to maturin, such as `--compatibility manylinux_2_17 --zig`; MATURIN names another one. With STRATA, that
# binary is put into the wheel (default: made here). EMULATOR runs it, if this computer cannot.
set -euo pipefail
cd "$(dirname "$0")/.."
target=${CARGO_TARGET_DIR:-target}

if [[ -z ${STRATA:-} ]]; then
    cargo build --release --locked
    STRATA=$target/release/strata
fi
strata=(${EMULATOR:+"$EMULATOR"} "$STRATA")
data=python/strata.data
rm -rf "$data"
install -D --target-directory="$data/scripts" "$STRATA"
"${strata[@]}" man "$data/data/share/man/man1" --quiet
mkdir -p "$data/data/share/bash-completion/completions"
"${strata[@]}" completions bash >"$data/data/share/bash-completion/completions/strata"

"${MATURIN:-maturin}" build --release --manifest-path python/Cargo.toml --out "${WHEELS:-$target/wheels}" "$@"
