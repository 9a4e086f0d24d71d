#!/bin/sh
# Builds the ramdisk in the current folder: kernel and initrd.gz. The kernel package is unpacked, not installed.
set -eu

INIT=$1
KERNEL_META=linux-image-amd64

# Disks and NICs of common machines, as far as they need no firmware from elsewhere; virtio for virtual ones.
MODULES='ahci sd_mod nvme megaraid_sas mpt3sas virtio_pci virtio_blk virtio_scsi virtio_net
 e1000 e1000e igb ixgbe i40e ice tg3 mlx5_core r8169 af_packet'

package=$(apt-cache depends "$KERNEL_META" | awk '/Depends: linux-image/ { print $2; exit }')
[ -n "$package" ] || { echo "apt knows no $KERNEL_META: run apt-get update" >&2; exit 1; }
apt-get download -q "$package" >&2
dpkg-deb -x "$package"_*.deb unpacked
cp unpacked/boot/vmlinuz-* kernel
version=$(ls unpacked/lib/modules)
/sbin/depmod -b unpacked "$version"

mkdir -p root/bin root/lib/modules
cp /bin/busybox root/bin/
cp "$INIT" root/init
chmod 755 root/init
for module in $MODULES; do
  /sbin/modprobe -d "$PWD/unpacked" -S "$version" --show-depends "$module" 2>/dev/null
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > modules
: > root/lib/modules/order
while read -r file; do
  path=${file#"$PWD/unpacked/"}
  mkdir -p "root/$(dirname "$path")"
  cp "$file" "root/$path"
  echo "/$path" >> root/lib/modules/order
done < modules
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -9n) > initrd.gz
rm -rf root unpacked modules ./*.deb
