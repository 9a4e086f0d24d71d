#!/bin/sh
# Process 1 of a host: holds its namespaces, and waits, which reaps guests whose parent is gone. Ends when it is
# killed, and everything in its PID namespace with it.
while :; do
  sleep 3600 &
  wait $!
done
