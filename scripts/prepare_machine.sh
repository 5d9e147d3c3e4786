#!/bin/sh
# Make the virtual environment, and see to the system packages that medagentgym needs: installs them as root, else says which are missing.
# Usage: prepare_machine.sh PYTHON VENV
set -eu
python=$1
venv=$2

say() { echo "medagentgym: $*" >&2; }

"$python" -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null || {
    say "$python is not Python 3.11 or newer; name one, for example: make demo PYTHON=python3.11"
    exit 1
}

have_library() { "$python" -c "import ctypes.util, sys; sys.exit(ctypes.util.find_library('$1') is None)" 2>/dev/null; }

wanted=""
command -v bwrap >/dev/null 2>&1 || wanted="$wanted bubblewrap"
have_library seccomp || wanted="$wanted libseccomp2"
"$python" -c 'import ensurepip, venv' 2>/dev/null || wanted="$wanted python3-venv"

if [ -n "$wanted" ]; then
    if [ "$(id -u)" = 0 ] && command -v apt-get >/dev/null 2>&1; then
        say "installing the system packages:$wanted"
        (apt-get update -qq && DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends $wanted) >/dev/null 2>&1 ||
            say "apt-get could not install:$wanted; going on without"
    else
        # bubblewrap also comes as a Python package among the locked ones
        rest=$(echo "$wanted" | sed 's/ bubblewrap//')
        [ -z "$rest" ] || say "these system packages are missing: install them with  apt-get install$rest"
    fi
fi

"$python" -m venv "$venv" 2>/dev/null || "$python" -m virtualenv "$venv" >/dev/null 2>&1 || {
    rm -rf "$venv"
    say "no virtual environment can be made: install the system package python3-venv, or pip install virtualenv"
    exit 1
}
