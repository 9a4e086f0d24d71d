#!/bin/sh
# Builds the tiny guest in the current folder: vmlinuz, initrd.gz and guest.qcow2. Nothing is mounted and no loop
# device is used; the kernel package is unpacked, not installed.
set -eu

INIT=$1
DISK_MB=48
PART_SECTOR=2048

# Drivers for what the domain has, and for the file systems of config drives.
MODULES='virtio_pci virtio_blk virtio_net sr_mod ata_piix isofs vfat nls_cp437 nls_iso8859-1 nls_utf8 nls_ascii
 button evdev virtio_balloon virtio_rng virtio_console i6300esb'

. "$(dirname "$0")/initrd.sh"
unpack_kernel linux-image-cloud-amd64
cp unpacked/boot/vmlinuz-* vmlinuz

# An SSH server, with the libraries that it needs. Unpacked: installing it would make keys for the machine.
apt-get download -q dropbear-bin libtomcrypt1 libtommath1 >&2
for deb in dropbear-bin_*.deb libtom*.deb; do dpkg-deb -x "$deb" ssh; done
mkdir -p root/usr/sbin
cp ssh/usr/sbin/dropbear root/usr/sbin/
LD_LIBRARY_PATH=$(echo "$PWD"/ssh/usr/lib/*-linux-gnu) ldd ssh/usr/sbin/dropbear |
  awk '$2 == "=>" { print $3, $1 } $1 ~ /^\// { print $1, $1 }' > libraries
while read -r file name; do
  case "$name" in /*) place=root$name ;; *) place=root/lib64/$name ;; esac
  mkdir -p "$(dirname "$place")"
  cp -L "$file" "$place"
done < libraries

pack_initrd "$INIT" "$MODULES"

offset=$((PART_SECTOR * 512))
truncate -s "${DISK_MB}M" guest.img
printf 'label: dos\n%s,,0x0e,*\n' "$PART_SECTOR" | /sbin/sfdisk -q guest.img
dd if=/usr/lib/syslinux/mbr/mbr.bin of=guest.img bs=440 count=1 conv=notrunc status=none
/sbin/mkfs.vfat --offset "$PART_SECTOR" -F 16 -h "$PART_SECTOR" -n GUEST guest.img \
  $((DISK_MB * 1024 - 1024)) >/dev/null
cat > syslinux.cfg <<'CFG'
SERIAL 0 115200
DEFAULT guest
PROMPT 0
TIMEOUT 0
LABEL guest
 KERNEL vmlinuz
 APPEND initrd=initrd.gz console=ttyS0 quiet panic=1 mitigations=off no_timer_check
CFG
mcopy -i "guest.img@@$offset" vmlinuz initrd.gz syslinux.cfg ::
syslinux --install --offset "$offset" guest.img
qemu-img convert -f raw -O qcow2 -c guest.img guest.qcow2
rm -rf unpacked ssh root modules libraries guest.img syslinux.cfg ./*.deb
