import { Failure } from '#common/errors.ts'
import type { ImageSpec, InstanceSpec } from '../driver.ts'
import { withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'

/** The image property that says which hypervisor an image is made for; the scheduler filters on it too. */
const IMAGE_PROPERTY = 'hypervisor_type'

/** Afterwards the guest is remembered as running. */
export async function spawn(
  host: FakeHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  refuseRealImage(spec.image)
  await host.locks.runSpawn(spec.id, signal, (spawnSignal) =>
    host.faulty('spawn', spec, spawnSignal, () => boot(host, spec)),
  )
}

/** A user who asked for a real image must get a real guest, or an error. */
export function refuseRealImage(image: ImageSpec): void {
  if (image.properties[IMAGE_PROPERTY] === 'fake') return
  throw new Failure(
    'invalid',
    `Image ${image.id} is for real hosts: a simulated host takes only images with the property ${IMAGE_PROPERTY}=fake.`,
  )
}

function boot(host: FakeHost, spec: InstanceSpec): void {
  const existing = host.guests.find(spec.id)
  if (existing?.powerState === 'running') return
  if (existing !== undefined) return host.setPower(spec.id, 'running', 'powered on')
  const { id, displayName } = spec
  const line = `booted ${displayName} (${spec.hostname}) from image ${spec.image.name}, uuid ${id}`
  const hardware = {
    vcpus: spec.flavor.vcpus,
    memoryMb: spec.flavor.memoryMb,
    disks: 1 + Number(spec.flavor.ephemeralGb > 0) + Number(spec.flavor.swapMb > 0),
    macAddresses: spec.nics.map(({ macAddress }) => macAddress),
    hasConfigDrive: spec.configDrive !== undefined,
  }
  const off = { id, displayName, powerState: 'shutdown', hardware, console: [] } as const
  host.guests.put(withEvent(off, 'running', line))
}
