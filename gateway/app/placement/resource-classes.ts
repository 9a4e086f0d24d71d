import { Failure } from '#common/errors.ts'

/** The classes hosts here have inventories of. */
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

function isResourceClass(name: string): boolean {
  return RESOURCE_CLASSES.includes(name) || CUSTOM_CLASS.test(name)
}

/** Throws `not-found` for a class that no host can have. */
export function resourceClass(name: string): string {
  if (isResourceClass(name)) return name
  throw new Failure('not-found', `No such resource class ${name}.`)
}

/** Amounts by class. */
export type Amounts = Readonly<Record<string, number>>

export type RequestedAmounts = ReadonlyMap<string, number>

const AMOUNT = /^([A-Z0-9_]+):(\d{1,15})$/

/** `VCPU:2,MEMORY_MB:512`. Throws `invalid` for malformed text, for none, and for an unknown class. */
export function requestedAmounts(text: string): RequestedAmounts {
  const pairs = text.split(',').map((part) => {
    const [, name = '', amount = ''] = AMOUNT.exec(part) ?? []
    if (Number(amount) < 1)
      throw new Failure(
        'invalid',
        `Badly formed resources parameter. Expected resources=CLASS:AMOUNT,… Got: ${text}.`,
      )
    if (!isResourceClass(name))
      throw new Failure('invalid', `Invalid resource class in resources parameter: ${name}.`)
    return [name, Number(amount)] as const
  })
  return new Map(pairs)
}
