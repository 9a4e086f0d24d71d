/** What a Debian package is needed for. */
export type Purpose = 'base' | 'libvirt' | 'clients'

export interface Package {
  readonly name: string
  readonly purpose: Purpose
  /** A file the package brings; while it is absent the package counts as missing. */
  readonly file: string
  /** Not installed but unpacked below `.weir/`, because installing it would start and enable a system service. */
  readonly isUnpacked?: boolean
}

/** Every Debian package Weir uses. None but the unpacked ones brings a system service. */
export const PACKAGES: readonly Package[] = [
  { name: 'mariadb-server-core', purpose: 'base', file: '/usr/sbin/mariadbd' },
  { name: 'mariadb-client-core', purpose: 'base', file: '/usr/bin/my_print_defaults' },
  { name: 'nats-server', purpose: 'base', file: '/usr/sbin/nats-server', isUnpacked: true },
  { name: 'python3-openstackclient', purpose: 'clients', file: '/usr/bin/openstack' },
]
