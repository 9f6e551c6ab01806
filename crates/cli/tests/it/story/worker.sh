# A worker that lives by `atm` alone: takes tasks, answers its lead, and ends when it is asked to.
# $1: the word that its results end in.

work() {
    task=$(atm task claim --next --json 2>/dev/null) || return 1
    id=$(echo "$task" | jq -r .task.id)
    case $(echo "$task" | jq -r .task.subject) in
    design*)
        # Only with the lead's leave.
        atm plan submit "First the doors, then the windows" --wait --timeout 60s || exit 10
        ;;
    esac
    echo "$id $1" | atm artifacts put - --as-name "result-$id.txt" || exit 11
    atm task complete "$id" --notes "done by $ATM_AS" || exit 12
}

while :; do
    while work "$1"; do :; done
    atm idle >/dev/null || exit 13
    atm read --wait 60s --json >mail-"$ATM_AS".json || exit 14
    jq -c '.[]' mail-"$ATM_AS".json >>heard-"$ATM_AS".jsonl
    for id in $(jq -r '.[] | select(.text | startswith("[PENDING ACTION")) | .id' mail-"$ATM_AS".json); do
        atm ack "$id" "I mind it" || exit 16
    done
    if jq -e 'any(.[]; .type == "health_check")' mail-"$ATM_AS".json >/dev/null; then
        atm heartbeat || exit 15
    fi
    if jq -e 'any(.[]; .type == "shutdown_request")' mail-"$ATM_AS".json >/dev/null; then
        atm shutdown approve && exit 0
    fi
done
