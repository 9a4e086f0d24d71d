/**
 * Debian packages that a libvirt host needs. Not libvirt-daemon-system: that starts and enables a daemon for the
 * whole machine.
 */
export const LIBVIRT_PACKAGES = [
  'dnsmasq-base',
  'genisoimage',
  'iproute2',
  'iptables',
  'libvirt-clients',
  'libvirt-daemon',
  'libvirt-daemon-driver-qemu',
  'mount',
  'ovmf',
  'procps',
  'qemu-system-x86',
  'qemu-utils',
  'seabios',
  'util-linux',
] as const
