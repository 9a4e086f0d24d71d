/** Each would start a service of the machine, so they are unpacked; with the programs dockerd looks for. */
const DOCKER_PACKAGES = [
  { name: 'docker.io', program: 'dockerd' },
  { name: 'containerd', program: 'containerd' },
  { name: 'runc', program: 'runc' },
] as const

/** What those need of the system, and what the demo's container is made of. */
const DOCKER_LIBRARIES = [
  'busybox-static',
  'libdevmapper1.02.1',
  'libseccomp2',
  'iptables',
  'iproute2',
] as const

/** Debian packages that building the guest image needs, beside what every installation has. */
const GUEST_PACKAGES = [
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

/**
 * Debian packages that a libvirt host needs. Not libvirt-daemon-system: that starts and enables a daemon for the
 * whole machine.
 */
const LIBVIRT_PACKAGES = [
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

/** Each would start a service of the machine, so they are unpacked; with a program of each. */
const OVN_PACKAGES = [
  { name: 'openvswitch-common', program: 'ovs-vsctl' },
  { name: 'openvswitch-switch', program: 'ovs-vswitchd' },
  { name: 'ovn-common', program: 'ovn-nbctl' },
  { name: 'ovn-central', program: 'ovn-northd' },
  { name: 'ovn-host', program: 'ovn-controller' },
] as const

/** What those need of the system. */
const OVN_LIBRARIES = [
  'ethtool',
  'iproute2',
  'libbpf1',
  'libcap-ng0',
  'libevent-2.1-7',
  'libnuma1',
  'libtcmalloc-minimal4',
  'libunbound8',
  'libxdp1',
] as const

/** What a control plane of several machines needs besides: of the package of MariaDB's server only the scripts with which a node copies its data to another. */
const CONTROL_PLANE_PACKAGES: readonly Omit<Package, 'purpose'>[] = [
  { name: 'galera-4' },
  { name: 'mariadb-backup', program: 'mariadb-backup' },
  { name: 'socat', program: 'socat' },
  { name: 'mariadb-server', program: 'wsrep_sst_mariabackup', isUnpacked: true },
  { name: 'haproxy', program: 'haproxy', isUnpacked: true },
  { name: 'liblua5.3-0' },
  { name: 'libopentracing-c-wrapper0' },
  { name: 'libopentracing1' },
]

/** Each would start services of the machine, so they are unpacked; with a program of each. */
const CEPH_PACKAGES = [
  { name: 'ceph-base', program: 'osdmaptool' },
  { name: 'ceph-common', program: 'radosgw-admin' },
  { name: 'ceph-mgr', program: 'ceph-mgr' },
  { name: 'ceph-mgr-modules-core' },
  { name: 'ceph-mon', program: 'ceph-mon' },
  { name: 'ceph-osd', program: 'ceph-osd' },
  { name: 'radosgw', program: 'radosgw' },
] as const

/** What those need of the system, and what hosts need whose guests have disks in it; the others come with them. */
const CEPH_LIBRARIES = [
  'libaio1',
  'libboost-context1.74.0',
  'libboost-filesystem1.74.0',
  'libboost-program-options1.74.0',
  'libboost-python1.74.0',
  'libboost-thread1.74.0',
  'libcurl3-gnutls',
  'libfmt9',
  'libfuse2',
  'libgoogle-perftools4',
  'libicu72',
  'libldap-2.5-0',
  'libleveldb1d',
  'liblua5.3-0',
  'liboath0',
  'libpmem1',
  'librabbitmq4',
  'librados2',
  'libsnappy1v5',
  'libvirt-daemon-driver-storage-rbd',
  'python3-ceph-argparse',
  'python3-ceph-common',
  'python3-prettytable',
  'python3-rados',
  'qemu-block-extra',
] as const

/** What a target of iSCSI needs of the system, and hosts need whose guests have disks on its LUNs. */
const ISCSI_LIBRARIES = [
  'libaio1',
  'libibverbs1',
  'librdmacm1',
  'libvirt-daemon-driver-storage-iscsi-direct',
  'qemu-block-extra',
] as const

/** Each would start services of the machine, or make a user, so they are unpacked; with a program of each. */
const GLUSTER_PACKAGES = [
  { name: 'glusterfs-cli', program: 'gluster' },
  { name: 'glusterfs-client', program: 'mount.glusterfs' },
  { name: 'glusterfs-common', program: 'glusterfsd' },
  { name: 'glusterfs-server', program: 'glusterd' },
] as const

/** What those need of the system. */
const GLUSTER_LIBRARIES = [
  'attr',
  'libaio1',
  'libgfrpc0',
  'libgfxdr0',
  'libglusterd0',
  'libglusterfs0',
  'libreadline8',
  'libtirpc3',
  'liburcu8',
] as const

/**
 * A RabbitMQ, and Nova's own objects to check notifications with. The server would start as a service of the machine,
 * and Nova's package would bring eighty others.
 */
const MESSAGING_PACKAGES = [
  'rabbitmq-server',
  'erlang-base',
  'erlang-asn1',
  'erlang-crypto',
  'erlang-eldap',
  'erlang-inets',
  'erlang-mnesia',
  'erlang-os-mon',
  'erlang-parsetools',
  'erlang-public-key',
  'erlang-runtime-tools',
  'erlang-ssl',
  'erlang-syntax-tools',
  'erlang-tools',
  'erlang-xmerl',
  'python3-nova',
  'python3-castellan',
  'python3-cursive',
  'python3-os-resource-classes',
  'python3-os-traits',
  'python3-oslo.versionedobjects',
] as const

/** Each would start services of the machine, or make a user, so they are unpacked; with a program of each. */
const PACEMAKER_PACKAGES = [
  { name: 'corosync', program: 'corosync' },
  { name: 'pacemaker', program: 'pacemakerd' },
  { name: 'pacemaker-cli-utils', program: 'stonith_admin' },
] as const

/** What those need of the system; the others come with them. */
const PACEMAKER_LIBRARIES = [
  'libcfg7',
  'libcrmcluster29',
  'libknet1',
  'libnozzle1',
  'libpacemaker1',
  'libquorum5',
  'libstatgrab10',
  'libvotequorum8',
  'libxslt1.1',
] as const

/** Debian packages that building the ramdisk needs, beside what every installation has. */
const RAMDISK_PACKAGES = ['busybox-static', 'cpio', 'kmod'] as const

/** The purpose for which a Debian package is needed. */
export type Purpose =
  | 'base'
  | 'libvirt'
  | 'ovn'
  | 'docker'
  | 'baremetal'
  | 'machines'
  | 'ironic'
  | 'keystone'
  | 'messaging'
  | 'placement'
  | 'horizon'
  | 'clients'
  | 'ansible'
  | 'browser'
  | 'faults'
  | 'fencing'
  | 'control-plane'
  | 'ceph'
  | 'iscsi'
  | 'gluster'
  | 'monitoring'
  | 'release'

export interface Package {
  readonly name: string
  readonly purpose: Purpose
  /**
   * A program of the package. If it is found, the package counts as installed, even if the program came another way.
   * Absent from an unpacked package: it counts as installed if its documents are there.
   */
  readonly program?: string
  /** Not installed but unpacked below `.weir/`, because installing it would start and enable a system service, or make a user. */
  readonly isUnpacked?: true
}

/** What cloud-init, which is unpacked because it would configure the machine when that starts, needs of the system. */
const CLOUD_INIT_LIBRARIES = [
  'python3-configobj',
  'python3-jinja2',
  'python3-jsonpatch',
  'python3-jsonschema',
  'python3-oauthlib',
  'python3-requests',
  'python3-yaml',
] as const

/** Every Debian package Weir uses. None but the unpacked ones brings a system service. */
export const PACKAGES: readonly Package[] = [
  { name: 'mariadb-server-core', purpose: 'base', program: 'mariadbd' },
  { name: 'mariadb-client-core', purpose: 'base', program: 'my_print_defaults' },
  { name: 'openssl', purpose: 'base', program: 'openssl' },
  { name: 'nats-server', purpose: 'base', program: 'nats-server', isUnpacked: true },
  ...[...new Set([...LIBVIRT_PACKAGES, ...GUEST_PACKAGES])].map(
    (name): Package => ({ name, purpose: 'libvirt' }),
  ),
  { name: 'procps', purpose: 'libvirt', program: 'uptime' },
  ...DOCKER_PACKAGES.map(
    (unpacked): Package => ({ ...unpacked, purpose: 'docker', isUnpacked: true }),
  ),
  ...DOCKER_LIBRARIES.map((name): Package => ({ name, purpose: 'docker' })),
  ...OVN_PACKAGES.map((unpacked): Package => ({ ...unpacked, purpose: 'ovn', isUnpacked: true })),
  ...OVN_LIBRARIES.map((name): Package => ({ name, purpose: 'ovn' })),
  { name: 'openssh-client', purpose: 'ovn', program: 'ssh' },
  ...RAMDISK_PACKAGES.map((name): Package => ({ name, purpose: 'baremetal' })),
  { name: 'qemu-utils', purpose: 'baremetal', program: 'qemu-img' },
  { name: 'genisoimage', purpose: 'baremetal', program: 'genisoimage' },
  { name: 'openipmi', purpose: 'machines', program: 'ipmi_sim' },
  { name: 'ipmitool', purpose: 'machines', program: 'ipmitool' },
  { name: 'qemu-system-x86', purpose: 'machines', program: 'qemu-system-x86_64' },
  { name: 'ipxe-qemu', purpose: 'machines' },
  { name: 'python3-ironic', purpose: 'ironic' },
  { name: 'ironic-common', purpose: 'ironic', program: 'ironic', isUnpacked: true },
  { name: 'python3-keystone', purpose: 'keystone', program: 'keystone-manage' },
  { name: 'python3-placement', purpose: 'placement', program: 'placement-api' },
  ...MESSAGING_PACKAGES.map((name): Package => ({ name, purpose: 'messaging', isUnpacked: true })),
  { name: 'python3-oslo.messaging', purpose: 'messaging' },
  { name: 'python3-netaddr', purpose: 'messaging' },
  // The dashboard itself; the package that would make a user of the machine brings its policies and themes.
  { name: 'python3-django-horizon', purpose: 'horizon' },
  { name: 'openstack-dashboard', purpose: 'horizon', isUnpacked: true },
  { name: 'python3-openstackclient', purpose: 'clients', program: 'openstack' },
  { name: 'python3-novaclient', purpose: 'clients' },
  { name: 'python3-glanceclient', purpose: 'clients' },
  { name: 'python3-neutronclient', purpose: 'clients' },
  { name: 'python3-openstacksdk', purpose: 'clients' },
  { name: 'python3-libcloud', purpose: 'clients' },
  { name: 'ruby-fog-openstack', purpose: 'clients' },
  { name: 'python3-osc-placement', purpose: 'clients' },
  { name: 'curl', purpose: 'clients', program: 'curl' },
  { name: 'isc-dhcp-client', purpose: 'clients', program: 'dhclient', isUnpacked: true },
  { name: 'cloud-init', purpose: 'clients', program: 'cloud-init', isUnpacked: true },
  ...CLOUD_INIT_LIBRARIES.map((name): Package => ({ name, purpose: 'clients' })),
  { name: 'libfaketime', purpose: 'faults' },
  { name: 'fence-agents', purpose: 'fencing', program: 'fence_ipmilan' },
  { name: 'ipmitool', purpose: 'fencing', program: 'ipmitool' },
  ...PACEMAKER_PACKAGES.map((each): Package => ({ ...each, purpose: 'fencing', isUnpacked: true })),
  ...PACEMAKER_LIBRARIES.map((name): Package => ({ name, purpose: 'fencing' })),
  { name: 'iproute2', purpose: 'faults', program: 'ip' },
  ...CONTROL_PLANE_PACKAGES.map((each): Package => ({ ...each, purpose: 'control-plane' })),
  ...CEPH_PACKAGES.map((unpacked): Package => ({ ...unpacked, purpose: 'ceph', isUnpacked: true })),
  ...CEPH_LIBRARIES.map((name): Package => ({ name, purpose: 'ceph' })),
  // It would start a service of the machine.
  { name: 'tgt', purpose: 'iscsi', program: 'tgtd', isUnpacked: true },
  ...ISCSI_LIBRARIES.map((name): Package => ({ name, purpose: 'iscsi' })),
  ...GLUSTER_PACKAGES.map(
    (unpacked): Package => ({ ...unpacked, purpose: 'gluster', isUnpacked: true }),
  ),
  ...GLUSTER_LIBRARIES.map((name): Package => ({ name, purpose: 'gluster' })),
  // It would start a service of the machine. Its program needs nothing of the packages that its page does.
  { name: 'prometheus', purpose: 'monitoring', program: 'promtool', isUnpacked: true },
  { name: 'umoci', purpose: 'release', program: 'umoci' },
  { name: 'runc', purpose: 'release', program: 'runc' },
  { name: 'mmdebstrap', purpose: 'release', program: 'mmdebstrap' },
  { name: 'golang-go', purpose: 'clients', program: 'go' },
  { name: 'golang-github-gophercloud-gophercloud-dev', purpose: 'clients' },
  { name: 'ansible-core', purpose: 'ansible', program: 'ansible-playbook' },
  { name: 'python3-platformdirs', purpose: 'ansible' },
  { name: 'python3-typing-extensions', purpose: 'ansible' },
  { name: 'chromium', purpose: 'browser', program: 'chromium' },
]
