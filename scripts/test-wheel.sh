#!/usr/bin/env bash
# Builds the Python wheel, installs it into an environment that has nothing else of strata, and runs the tests of python/tests, the type
# checker and the program there. pip fetches maturin, pytest, numpy and mypy. PYTHON is the interpreter (default: python3). With STRATA, that binary is
# put into the wheel (default: made here).
set -euo pipefail
cd "$(dirname "$0")/.."
readonly tools="maturin==1.16.0"
# numpy and mypy have other newest releases for older interpreters.
readonly testers=("pytest==9.2.0" "numpy==2.4.6" "mypy==2.4.1")
target=$(realpath --canonicalize-missing "${CARGO_TARGET_DIR:-target}")
python=${PYTHON:-python3}

pip() { "$1" -m pip --quiet --disable-pip-version-check --no-input "${@:2}"; }

# An environment by its name and what is installed in it; it stays for the next time.
environment() {
    local place=$target/python/$1
    if [[ ! -f $place/complete ]]; then
        rm -rf "$place"
        "$python" -m venv "$place"
        pip "$place/bin/python" install "${@:2}"
        touch "$place/complete"
    fi
}

environment "build-${tools//=/-}" "$tools"
rm -rf "$target/wheels"
MATURIN=$target/python/build-${tools//=/-}/bin/maturin scripts/build-wheel.sh
wheels=("$target"/wheels/*.whl)
if ((${#wheels[@]} != 1)); then
    echo "error: there should be one wheel, and there are: ${wheels[*]}" >&2
    exit 1
fi
echo "$(basename "${wheels[0]}"): $(stat --format=%s "${wheels[0]}") bytes (after $SECONDS s)"

# Without numpy first: it is optional.
plain=$target/python/plain
rm -rf "$plain"
"$python" -m venv "$plain"
pip "$plain/bin/python" install "${wheels[0]}"
(
    cd "$target/python"
    "$plain/bin/strata" --version
    "$plain/bin/strata" discover --device sim:k20c --only constant_l1.size --effort quick --quiet >/dev/null
    "$plain/bin/python" -W error -c '
import strata
t = strata.discover(device="sim:k20c", only=["constant_l1.size"], effort="quick")
print(t.constant_l1)'
)

testers_name=test-$("$python" -c 'import sys; print("%d.%d" % sys.version_info[:2])')
environment "$testers_name" "${testers[@]}"
tested=$target/python/$testers_name/bin/python
pip "$tested" install --force-reinstall --no-deps "${wheels[0]}"
# In a copy, so that the package of the wheel is imported and not the sources.
copy=$target/python/tests
rm -rf "$copy"
cp -r python/tests "$copy"
cp python/pyproject.toml "$copy"
cd "$copy"
"$tested" -m mypy --config-file pyproject.toml --package strata
"$tested" -m mypy --config-file pyproject.toml .
RECORDINGS=$OLDPWD/recordings "$tested" -m pytest --quiet -p no:cacheprovider .
