import { Failure } from '#common/errors.ts'

/** The classes hosts here have inventories of. */
export const PROVIDED_CLASSES = ['VCPU', 'MEMORY_MB', 'DISK_GB'] as const
export type ProvidedClass = (typeof PROVIDED_CLASSES)[number]

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

/** Throws `not-found` for a class Placement does not know. */
export function resourceClass(name: string): string {
  if (RESOURCE_CLASSES.includes(name)) return name
  throw new Failure('not-found', `No such resource class ${name}.`)
}

/** Amounts by class, of classes that hosts here have. */
export type Amounts = Readonly<Partial<Record<ProvidedClass, number>>>

export type RequestedAmounts = ReadonlyMap<string, number>

const AMOUNT = /^([A-Z0-9_]+):(\d{1,15})$/

/** `VCPU:2,MEMORY_MB:512`. Throws `invalid` for what is malformed, none, or of an unknown class. */
export function requestedAmounts(text: string): RequestedAmounts {
  const pairs = text.split(',').map((part) => {
    const [, name = '', amount = ''] = AMOUNT.exec(part) ?? []
    if (Number(amount) < 1)
      throw new Failure(
        'invalid',
        `Badly formed resources parameter. Expected resources=CLASS:AMOUNT,… Got: ${text}.`,
      )
    if (!RESOURCE_CLASSES.includes(name))
      throw new Failure('invalid', `Invalid resource class in resources parameter: ${name}.`)
    return [name, Number(amount)] as const
  })
  return new Map(pairs)
}
