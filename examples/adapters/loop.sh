#!/bin/sh
# A runtime of thirty lines, and the adapter for it, in POSIX shell: each step acts, and is then recorded in the file `done`.
# docs/adapter-protocol.md says what is read and answered here; examples/adapters/loop.yaml is the campaign.
read -r request
field() { printf '%s\n' "$request" | sed -n "s/.*\"$1\": \"\([^\"]*\)\".*/\1/p"; }
steps() { printf '%s\n' "$request" | sed -n 's/.*"steps": \[\([^]]*\)\].*/\1/p' | tr -d ',"'; }

run() {
    for step in $(steps); do
        grep -qx "$step" done && continue
        echo "{\"step\": \"$step\"}" >> "$world"
        echo "$step" >> done
    done
}

do=$(field do) world=$(field world)
[ "$do" = describe ] || cd "$(field directory)" || exit 1
case $do in
describe)
    echo '{"ok": true, "promise": {"words": "each step happens at least once", "source": "its first line",
        "allows": ["DUPLICATE"]}, "capabilities": {"takeover_seconds": 0}, "versions": {"loop.sh": "1"}}' | tr -d '\n'
    ;;
prepare) : > done ;;
start)
    field job > job.new && mv job.new job && echo '{"accepted": true}'
    run
    ;;
recover) [ ! -e job ] || run ;;
belief)
    status=running said=
    for step in $(cat done); do said="$said, \"$step\": \"done\""; done
    [ "$(wc -l < done)" -lt "$(steps | wc -w)" ] || status=completed
    [ -e job ] || status=absent
    echo "{\"ok\": true, \"status\": \"$status\", \"steps\": {${said#, }}}"
    exit
    ;;
esac
[ "$do" = describe ] || echo '{"ok": true}'
