# A worker that reads and writes mail with jq alone, under the lock that agent clients take. Its tasks it does with `atm`.

inboxes=$ATM_ROOT/teams/$ATM_TEAM/inboxes

# Runs jq over an inbox and puts what it makes in its place, with the clients' directory lock.
edit() {
    until mkdir "$1.lock" 2>/dev/null; do sleep 0.01; done
    shift_file=$1
    shift
    jq "$@" "$shift_file" >"$shift_file.tmp.$$" && mv "$shift_file.tmp.$$" "$shift_file"
    rmdir "$shift_file.lock"
}

tell() {
    edit "$inboxes/$1.json" --arg from "$ATM_AS" --arg text "$2" --arg id "jq-$$-$(date +%s%N)" \
        '. + [{from: $from, text: $text, timestamp: (now | todate), messageId: $id, read: false}]'
}

tell team-lead "I am here"
while :; do
    until jq -e 'any(.[]; .read == false)' "$inboxes/$ATM_AS.json" >/dev/null; do sleep 0.02; done
    # What is there now is what is marked, and nothing that comes later.
    new=$(jq -c '[.[] | select(.read == false)]' "$inboxes/$ATM_AS.json")
    edit "$inboxes/$ATM_AS.json" --argjson new "$new" \
        '($new | map(.messageId)) as $ids | map(if (.messageId | IN($ids[])) then .read = true else . end)'
    echo "$new" | jq -c '.[]' >>"heard-$ATM_AS.jsonl"
    for id in $(echo "$new" | jq -r '.[] | .text | (try fromjson catch {}) | select(.type? == "task_assignment") | .taskId'); do
        atm task claim "$id" >/dev/null || exit 20
        atm task complete "$id" --no-message >/dev/null || exit 21
        tell team-lead "{\"type\":\"task_completion\",\"taskId\":\"$id\",\"notes\":\"with jq\"}"
    done
    request=$(echo "$new" | jq -r '[.[] | .text | (try fromjson catch {}) | select(.type? == "shutdown_request") | .requestId][0] // empty')
    if [ -n "$request" ]; then
        tell team-lead "{\"type\":\"shutdown_approved\",\"requestId\":\"$request\",\"from\":\"$ATM_AS\"}"
        exit 0
    fi
done
