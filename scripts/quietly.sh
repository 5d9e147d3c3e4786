#!/bin/sh
# Run a command; show what it said only where it fails, and fail as it did.
said=$(mktemp)
trap 'rm -f "$said"' EXIT
"$@" >"$said" 2>&1 || {
    status=$?
    cat "$said" >&2
    exit $status
}
