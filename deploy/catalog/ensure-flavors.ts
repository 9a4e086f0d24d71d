import { callApi, type Session } from '../api/session.ts'

/** Afterwards every one of these flavors exists; one an operator changed or made under the same name stays. */
export async function ensureFlavors(
  admin: Session,
  wanted: readonly FlavorBody[] = DEMO_FLAVORS,
): Promise<void> {
  const path = '/compute/v2.1/flavors'
  const { flavors } = await callApi<{ flavors: readonly { name: string }[] }>(admin, {
    method: 'GET',
    path,
  })
  const present = new Set(flavors.map(({ name }) => name))
  for (const { extraSpecs, ...flavor } of wanted.filter(({ name }) => !present.has(name))) {
    await callApi(admin, { method: 'POST', path, body: { flavor } })
    if (extraSpecs === undefined) continue
    const specs = `${path}/${flavor.id}/os-extra_specs`
    await callApi(admin, { method: 'POST', path: specs, body: { extra_specs: extraSpecs } })
  }
}

/** A flavor as the Compute API takes it; memory in MiB, disk in GB. */
interface FlavorBody {
  readonly id: string
  readonly name: string
  readonly vcpus: number
  readonly ram: number
  readonly disk: number
  readonly extraSpecs?: Readonly<Record<string, string>>
}

/** The resource class of a demo's simulated machines. */
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
