# A worker of the demo: it lives by `atm` alone. $ATM is the program; its name and team are in the environment.
# $1 is `work`, or `hang` for one that takes a task and then does not answer any more.

work() {
    task=$("$ATM" task claim --next --json 2>/dev/null) || return 1
    id=${task#*'"id": "'}
    id=${id%%'"'*}
    case $task in
    *'"subject": "design'*)
        "$ATM" plan submit "Doors first, then windows" --wait --timeout 20s >/dev/null || exit 1
        ;;
    esac
    "$ATM" task complete "$id" --notes "done by $ATM_AS" || exit 1
}

if [ "$1" = hang ]; then
    "$ATM" task claim --next
    exec "$ATM" watch --for 600s
fi

while :; do
    while work; do :; done
    "$ATM" idle || exit 1
    mail=$("$ATM" read --wait 60s --json) || exit 1
    case $mail in
    *health_check*) "$ATM" heartbeat || exit 1 ;;
    esac
    case $mail in
    *'PENDING ACTION'*)
        # The id stands before the text.
        id=${mail%%'[PENDING ACTION'*}
        id=${id##*'"id": "'}
        "$ATM" ack "${id%%'"'*}" "I mind it" || exit 1
        ;;
    esac
    case $mail in
    *shutdown_request*) "$ATM" shutdown approve && exit 0 ;;
    esac
done
