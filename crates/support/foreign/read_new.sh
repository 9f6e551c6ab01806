#!/bin/sh
# A test double of the shell scripts that read the log layout: every line past the cursor, once.
#
#   read_new.sh --inbox PATH --state PATH
#
# The cursor is `lastProcessedLine` in the state file; a missing state file counts as 0, and every other
# key in it survives. Prints each new message as compact JSON. A line that is not JSON is reported on
# standard error and passed; a last line without its newline is left for the next time. Needs jq.
# Exit: 0 all done, 1 the inbox or the state cannot be read, 2 wrong usage.
set -eu

inbox='' state=''
while [ $# -ge 2 ]; do
    case $1 in
    --inbox) inbox=$2 ;;
    --state) state=$2 ;;
    *) break ;;
    esac
    shift 2
done
if [ $# -ne 0 ] || [ -z "$inbox" ] || [ -z "$state" ]; then
    echo 'read_new.sh: usage: read_new.sh --inbox PATH --state PATH' >&2
    exit 2
fi

[ -e "$state" ] || echo '{}' >"$state"
last=$(jq -r '.lastProcessedLine // 0' "$state")
line_number=0
stamp=''
while IFS= read -r line; do
    line_number=$((line_number + 1))
    [ "$line_number" -gt "$last" ] || continue
    if message=$(printf '%s\n' "$line" | jq -ce . 2>/dev/null); then
        printf '%s\n' "$message"
        stamp=$(printf '%s\n' "$line" | jq -r '.timestamp? // empty')
    else
        echo "read_new.sh: line $line_number is not JSON" >&2
    fi
done <"$inbox"

[ "$line_number" -gt "$last" ] || exit 0
jq --argjson line "$line_number" --arg stamp "$stamp" \
    '.lastProcessedLine = $line | if $stamp == "" then . else .lastProcessedTimestamp = $stamp end' \
    "$state" >"$state.tmp"
mv "$state.tmp" "$state"
