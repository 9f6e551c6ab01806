# A worker that takes a task and then hangs, in its first life. In its second it works as the others do.

if [ ! -e slept ]; then
    : >slept
    until atm task claim --next; do atm read --wait 60s >/dev/null; done
    exec sleep 600
fi
exec sh worker.sh second-life
