/** Debian packages that building the guest image needs, beside what every installation has. */
export const GUEST_PACKAGES = [
  'busybox-static',
  'cpio',
  'fdisk',
  'dosfstools',
  'kmod',
  'mtools',
  'qemu-utils',
  'syslinux',
  'syslinux-common',
] as const
