#!/bin/bash
# Makes the file system of a machine, in a mount namespace of its own: prepare.sh FOLDER CHECKOUT PROGRAMS SYSTEMCTL
# Its /etc, /usr and /var/lib are those of this machine, and nothing that it writes there is seen outside.
set -euo pipefail
folder=$1 checkout=$2 programs=$3 systemctl=$4

mkdir -p "$folder"
mount -t tmpfs -o size=256m none "$folder"
for path in /etc /usr/lib /usr/sbin /usr/local /var; do
  mkdir -p "$folder$path/upper" "$folder$path/work"
  mount -t overlay overlay -o "lowerdir=$path,upperdir=$folder$path/upper,workdir=$folder$path/work" "$path"
done
mount -t tmpfs -o mode=755 none /run
mkdir -p /usr/lib/weir /var/log "$folder/home"
mount --bind "$checkout" /usr/lib/weir
cp "$systemctl" /usr/local/bin/systemctl
for program in nats-server haproxy; do
  [ -e /usr/sbin/$program ] || ln -s "$programs/usr/sbin/$program" /usr/sbin/$program
done
