#!/bin/sh
# Process 1 of a host: holds its namespaces, and waits, which reaps guests whose parent is gone. Told to end, it
# first lets everything in it write out what it holds; when it exits, everything in its PID namespace is gone.
end() {
  trap - TERM
  kill -TERM -1 2>/dev/null
  tries=0
  while [ "$tries" -lt 50 ]; do
    set -- /proc/[0-9]*
    [ "$#" -le 1 ] && break
    sleep 0.1
    tries=$((tries + 1))
  done
  exit 0
}
trap end TERM
while :; do
  sleep 3600 &
  wait $!
done
