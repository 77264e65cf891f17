#!/usr/bin/env bash
# Builds what is released for aarch64 and tries it in an emulator: the program of the archive discovers a simulated GPU and replays a
# recording, and must find what STRATA, a program for this computer, finds (default: that of a release build, made here). Then it measures a
# K20c through a stand-in for the driver. XTASK names xtask (default: made here). Installs the target's libraries of Rust, and Debian's
# qemu-user-static and libc6-arm64-cross, if it can. If it cannot it says so, and ends with status 0; with STRATA_NEEDS_AARCH64=1 that is a failure.
set -euo pipefail
cd "$(dirname "$0")/.."
readonly platform=aarch64-unknown-linux-gnu.2.17
readonly triple=${platform%%.*}
target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")

lacking() {
    if [[ -n ${STRATA_NEEDS_AARCH64:-} ]]; then
        echo "error: $1" >&2
        exit 1
    fi
    echo "aarch64: SKIPPED, since $1"
    exit 0
}

if [[ ! -d $(rustc --print target-libdir --target "$triple") ]]; then
    rustup target add "$triple" >&2 || lacking "the libraries of Rust for $triple cannot be installed"
fi
if ! command -v qemu-aarch64-static >/dev/null || [[ ! -d /usr/aarch64-linux-gnu ]]; then
    sudo=""
    if ((EUID != 0)); then sudo="sudo"; fi
    { ${sudo} apt-get update --quiet && ${sudo} apt-get install --quiet --yes --no-install-recommends qemu-user-static libc6-arm64-cross; } \
        >&2 || lacking "qemu-user-static and libc6-arm64-cross cannot be installed"
fi
if [[ -z ${STRATA:-} ]]; then
    cargo build --release --locked
    STRATA=$target/release/strata
fi

if [[ -z ${XTASK:-} ]]; then
    cargo build --package xtask --locked
    XTASK=$target/debug/xtask
fi

"$XTASK" dist --platform aarch64 --without-wheels
run=$(mktemp --directory --tmpdir strata-aarch64.XXXXXX)
trap 'rm -rf "$run"' EXIT
export STRATA_LOCK_DIR=$run
tar --extract --gzip --directory "$run" --strip-components 1 --file "$(ls target/dist/strata-*-aarch64-linux-gnu.tar.gz)"
foreign() {
    QEMU_LD_PREFIX=/usr/aarch64-linux-gnu qemu-aarch64-static "$run/strata" "$@"
}

# Exit status 1: something differs. 2: they cannot be compared.
same() {
    "$STRATA" compare "$run/$1-here.json" "$run/$1-there.json" --quiet || {
        echo "error: on aarch64 the result of $1 differs:" >&2
        "$STRATA" compare "$run/$1-here.json" "$run/$1-there.json" >&2
        exit 1
    }
    echo "aarch64: the same result of $1 as here (after $SECONDS s)"
}

discovery=(discover --device sim:k20c --only l1,constant_l1,l2.size,tlb_l1 --effort quick --format json --quiet)
"$STRATA" "${discovery[@]}" --output "$run/discovery-here.json"
foreign "${discovery[@]}" --output "$run/discovery-there.json"
same discovery
replay=(replay recordings/2026-11-25-h200-host.strata --format json --quiet)
"$STRATA" "${replay[@]}" --output "$run/replay-here.json"
foreign "${replay[@]}" --output "$run/replay-there.json"
same replay

# The tools that `cargo xtask dist` has installed.
PATH=$(printf '%s:' "$target"/python/dist/*/bin)$PATH
# As a release, which has built the simulator already.
cargo zigbuild --release --quiet --package fake-cuda --features executes --target "$platform" --locked
export STRATA_CUDA_LIBRARY=$target/$triple/release/libfake_cuda.so FAKE_CUDA_FAULT=kepler
foreign discover --device cuda:0 --only constant_l1.size,shared.banks --effort quick --format json --quiet >"$run/driver.json"
python3 - "$run/driver.json" <<'END'
import json, sys
elements = json.load(open(sys.argv[1]))["elements"]
found = elements["constant_l1"]["size"]["value"], elements["shared"]["banks"]["value"]
assert found == (2048, 32), f"through the driver a K20c has a constant L1 and banks of {found}, not of (2048, 32)"
END
echo "aarch64: a K20c is measured through a stand-in for the driver (after $SECONDS s)"
