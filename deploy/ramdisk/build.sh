#!/bin/sh
# Builds the ramdisk in the current folder: kernel and initrd.gz. The kernel package is unpacked, not installed.
set -eu

INIT=$1

# Disks and NICs of common machines, as far as they need no firmware from elsewhere; virtio for virtual ones.
MODULES='ahci sd_mod nvme megaraid_sas mpt3sas virtio_pci virtio_blk virtio_scsi virtio_net
 e1000 e1000e igb ixgbe i40e ice tg3 mlx5_core r8169 af_packet'

. "$(dirname "$0")/../guest/initrd.sh"
unpack_kernel linux-image-amd64
cp unpacked/boot/vmlinuz-* kernel
pack_initrd "$INIT" "$MODULES"
rm -rf root unpacked modules ./*.deb
