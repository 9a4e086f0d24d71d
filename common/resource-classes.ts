/** The classes that every host has. */
export const PROVIDED_CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'] as const

/** Placement's standard classes (os-resource-classes), which clients may name though no host has any. */
export const RESOURCE_CLASSES: readonly string[] = [
  ...PROVIDED_CLASSES,
  'PCI_DEVICE',
  'SRIOV_NET_VF',
  'NUMA_SOCKET',
  'NUMA_CORE',
  'NUMA_THREAD',
  'NUMA_MEMORY_MB',
  'IPV4_ADDRESS',
  'VGPU',
  'VGPU_DISPLAY_HEAD',
  'NET_BW_EGR_KILOBIT_PER_SEC',
  'NET_BW_IGR_KILOBIT_PER_SEC',
  'PCPU',
  'MEM_ENCRYPTION_CONTEXT',
  'FPGA',
  'PGPU',
  'NET_PACKET_RATE_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_EGR_KILOPACKET_PER_SEC',
  'NET_PACKET_RATE_IGR_KILOPACKET_PER_SEC',
]

/** Operators name resource classes of their own with this prefix: hosts may report one that is new here. */
const CUSTOM_CLASS = /^CUSTOM_[A-Z0-9_]{1,248}$/

/** True for a standard class and for one of an operator's own. */
export function isResourceClass(name: string): boolean {
  return RESOURCE_CLASSES.includes(name) || CUSTOM_CLASS.test(name)
}
