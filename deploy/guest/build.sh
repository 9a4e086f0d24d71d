#!/bin/sh
# Builds the tiny guest in the current folder: vmlinuz, initrd.gz and guest.qcow2. Nothing is mounted and no loop
# device is used; the kernel package is unpacked, not installed.
set -eu

INIT=$1
KERNEL_META=linux-image-cloud-amd64
DISK_MB=48
PART_SECTOR=2048

# Drivers for what the domain has, and for the file systems of config drives.
MODULES='virtio_pci virtio_blk virtio_net sr_mod ata_piix isofs vfat nls_cp437 nls_iso8859-1 nls_utf8 nls_ascii
 button evdev virtio_balloon virtio_rng virtio_console i6300esb'

package=$(apt-cache depends "$KERNEL_META" | awk '/Depends: linux-image/ { print $2; exit }')
[ -n "$package" ] || { echo "apt knows no $KERNEL_META: run apt-get update" >&2; exit 1; }
apt-get download -q "$package" >&2
dpkg-deb -x "$package"_*.deb kernel
cp kernel/boot/vmlinuz-* vmlinuz
version=$(ls kernel/lib/modules)
/sbin/depmod -b kernel "$version"

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

mkdir -p root/bin root/lib/modules
cp /bin/busybox root/bin/
cp "$INIT" root/init
chmod 755 root/init
for module in $MODULES; do
  /sbin/modprobe -d "$PWD/kernel" -S "$version" --show-depends "$module" 2>/dev/null
done | awk '$1 == "insmod" && !seen[$2]++ { print $2 }' > modules
: > root/lib/modules/order
while read -r file; do
  path=${file#"$PWD/kernel/"}
  mkdir -p "root/$(dirname "$path")"
  cp "$file" "root/$path"
  echo "/$path" >> root/lib/modules/order
done < modules
(cd root && find . | LC_ALL=C sort | cpio -o -H newc --quiet --reproducible | gzip -9n) > initrd.gz

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
rm -rf kernel ssh root modules libraries guest.img syslinux.cfg ./*.deb
