/** A flavor as the Compute API takes it; memory in MiB, disk in GB. */
export interface FlavorBody {
  readonly id: string
  readonly name: string
  readonly vcpus: number
  readonly ram: number
  readonly disk: number
  readonly extraSpecs?: Readonly<Record<string, string>>
}

/** What the simulated machines of a demo are called. */
export const DEMO_MACHINE_CLASS = 'CUSTOM_DEMO'

/** A whole machine of the demo's, and nothing else. */
export const DEMO_MACHINE_FLAVOR: FlavorBody = {
  id: '5',
  name: 'metal.tiny',
  vcpus: 1,
  ram: 256,
  disk: 1,
  extraSpecs: {
    [`resources:${DEMO_MACHINE_CLASS}`]: '1',
    'resources:VCPU': '0',
    'resources:MEMORY_MB': '0',
    'resources:DISK_GB': '0',
  },
}

/** Small enough that several fit on an emulated host of one machine. */
export const DEMO_FLAVORS: readonly FlavorBody[] = [
  { id: '1', name: 'm1.tiny', vcpus: 1, ram: 128, disk: 1 },
  { id: '2', name: 'm1.small', vcpus: 1, ram: 512, disk: 5 },
  { id: '3', name: 'm1.medium', vcpus: 2, ram: 1_024, disk: 10 },
  { id: '4', name: 'm1.large', vcpus: 4, ram: 2_048, disk: 20 },
]
