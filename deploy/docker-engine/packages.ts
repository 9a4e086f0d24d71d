/** Each would start a service of the machine, so they are unpacked; with the programs dockerd looks for. */
export const DOCKER_PACKAGES = [
  { name: 'docker.io', program: 'dockerd' },
  { name: 'containerd', program: 'containerd' },
  { name: 'runc', program: 'runc' },
] as const

/** What those need of the system, and what the demo's container is made of. */
export const DOCKER_LIBRARIES = [
  'busybox-static',
  'libdevmapper1.02.1',
  'libseccomp2',
  'iptables',
  'iproute2',
] as const
