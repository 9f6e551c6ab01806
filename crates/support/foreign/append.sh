#!/bin/sh
# A test double of the shell scripts that write the log layout: one `>>` per message, one JSON line each.
#
#   append.sh --inbox PATH [--from NAME] [--to NAME] [--count N] [--prefix P] [--pause-ms M] [--lock]
#
# With --lock each append is made under `flock` on `<inbox>.lock`; without, as is usual, under none.
# Says {"text":…} on standard output after each append. NAME and P must need no JSON escaping.
# Exit: 0 all done, 1 an append failed, 2 wrong usage.
set -eu

usage() {
    echo "append.sh: $1" >&2
    exit 2
}

inbox='' from=shell to='' count=1 prefix='message ' pause_ms=0 lock=no
while [ $# -gt 0 ]; do
    case $1 in
    --lock) lock=yes && shift && continue ;;
    --inbox | --from | --to | --count | --prefix | --pause-ms) [ $# -ge 2 ] || usage "$1 needs a value" ;;
    *) usage "no such option: $1" ;;
    esac
    case $1 in
    --inbox) inbox=$2 ;;
    --from) from=$2 ;;
    --to) to=$2 ;;
    --count) count=$2 ;;
    --prefix) prefix=$2 ;;
    --pause-ms) pause_ms=$2 ;;
    esac
    shift 2
done
[ -n "$inbox" ] || usage '--inbox is missing'
[ -n "$to" ] || to=$(basename "$(dirname "$inbox")")
case $from$to$prefix in *[\"\\]*) usage 'no quotes or backslashes in names and prefix' ;; esac
pause=$(printf '%d.%03d' $((pause_ms / 1000)) $((pause_ms % 1000)))

append() {
    if [ $lock = yes ]; then
        { flock -x 9 && echo "$1" >>"$inbox"; } 9>"$inbox.lock"
    else
        echo "$1" >>"$inbox"
    fi
}

mkdir -p "$(dirname "$inbox")"
turn=0
while [ "$turn" -lt "$count" ]; do
    [ "$turn" -eq 0 ] || [ "$pause_ms" -eq 0 ] || sleep "$pause"
    text=$prefix$turn
    now=$(date -u +%Y-%m-%dT%H:%M:%SZ)
    append "{\"type\":\"message\",\"from\":\"$from\",\"to\":\"$to\",\"timestamp\":\"$now\",\"content\":{\"text\":\"$text\"}}"
    printf '{"text":"%s"}\n' "$text"
    turn=$((turn + 1))
done
