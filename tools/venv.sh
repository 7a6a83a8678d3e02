#!/bin/sh
# Usage: venv.sh PYTHON FOLDER
# Create a virtual environment in FOLDER; on Debian, install python3-venv first if it is missing.
set -eu
python=$1
folder=$2

if ! "$python" -c 'import sys; sys.exit(sys.version_info < (3, 10))' 2>/dev/null; then
    echo "similitude needs Python 3.10 or newer, and '$python' is not: choose another one with make PYTHON=..." >&2
    exit 1
fi

if ! "$python" -c 'import ensurepip, venv' 2>/dev/null; then
    if [ "$(id -u)" -eq 0 ] && command -v apt-get >/dev/null; then
        echo "Python has no ensurepip, which virtual environments need: installing python3-venv ..."
        apt-get update -qq
        apt-get install -y -qq python3-venv
    else
        echo "Python has no ensurepip, which virtual environments need: run sudo apt-get install python3-venv" >&2
        exit 1
    fi
fi

"$python" -m venv "$folder"
