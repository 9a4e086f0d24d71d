/** Debian packages that a libvirt host needs. */
export const LIBVIRT_PACKAGES = [
  'dnsmasq-base',
  'genisoimage',
  'iproute2',
  'iptables',
  'libvirt-daemon-driver-qemu',
  'libvirt-daemon-system',
  'procps',
  'qemu-system-x86',
  'qemu-utils',
  'seabios',
  'util-linux',
] as const
