#!/bin/sh
# Installs the package into fresh environments and runs the most telling tests there (`make quick`):
#
#     tools/environments.sh NAME...
#
# 3.10 3.11 3.12 3.13  that version of Python (python3.10, or PYENV_ROOT/versions/3.10.*), all with the same versions of
#                      NumPy, SciPy and scikit-learn; what each finds is compared bit by bit with the others
# oldest               Python 3.10 with the oldest versions that pyproject.toml allows
# newest               the newest Python found with the newest versions of everything
# no-compiler          python3 where no compiler works: the readable loops
#
# Each needs one to three minutes for its build and as much for its tests, and an index of packages.
set -eu
[ $# -gt 0 ] || { sed -n '2,13s/^# \{0,1\}//p' "$0"; exit 2; }
folder=build/environments
same="numpy==2.2.6 scipy==1.15.3 scikit-learn==1.7.2" # the last ones for all of Python 3.10 to 3.13
oldest="numpy==1.26.0 scipy==1.13.1 scikit-learn==1.6.0 threadpoolctl==3.3.0 cloudpickle==3.0.0 loky==3.4.0 psutil==5.9.0 \
array-api-compat==1.9.0 pandas==2.2.0 pyarrow==21.0.0 typer==0.29.0 vl-convert-python==1.9.0 onnx==1.16.0 openpyxl==3.1.0 pillow==10.0.0"

interpreter() { # the Python of a version
    if "python$1" --version >/dev/null 2>&1; then command -v "python$1"; return; fi # a shim may be there without its version
    find "${PYENV_ROOT:-$HOME/.pyenv}/versions" -path "*/$1.*/bin/python3" 2>/dev/null | sort -V | tail -1
}

prepare() { # name, interpreter, requirements
    echo "== $1: $($2 --version), $3"
    rm -rf "$folder/$1"
    "$2" -m venv "$folder/$1"
    # shellcheck disable=SC2086
    "$folder/$1/bin/python" -m pip install --quiet --disable-pip-version-check '.[test]' $3
}

quick() { # name
    PYTHONSAFEPATH=1 "$folder/$1/bin/python" -m pytest -q -n "${WORKERS:-auto}" -p no:cacheprovider -m quick tests README.md
}

for name in "$@"; do
    case $name in
    3.*) python=$(interpreter "$name") needs=$same ;;
    oldest) python=$(interpreter 3.10) needs=$oldest ;;
    newest) python=$(for v in 3.13 3.12 3.11 3.10; do interpreter $v; done | head -1) needs= ;;
    no-compiler) python=$(command -v python3) needs= ;;
    *) echo "unknown: $name"; exit 2 ;;
    esac
    [ -n "$python" ] || { echo "missing: Python for $name"; exit 1; }
    if [ "$name" = no-compiler ]; then
        CC=/bin/false CXX=/bin/false prepare "$name" "$python" "$needs"
        "$folder/$name/bin/python" -c 'from similitude.compute import loops; assert not loops.COMPILED; print(loops.IN_USE)'
    else
        prepare "$name" "$python" "$needs"
        "$folder/$name/bin/python" -c 'from similitude.compute import loops; assert loops.COMPILED; print(loops.IN_USE)'
    fi
    quick "$name"
    case $name in
    3.*)
        export OPENBLAS_NUM_THREADS=1 FOUND_BY_VERSIONS="$folder"
        "$folder/$name/bin/python" tests/test_determinism.py "$folder/found-$name.npz"
        "$folder/$name/bin/python" -m pytest -q -n 0 -p no:cacheprovider tests/test_determinism.py -k another_version
        ;;
    esac
done
