import { Failure } from '#common/errors.ts'
import type { ImageSpec, InstanceSpec } from '../driver.ts'
import { type FakeHardware, withEvent } from './guest.ts'
import type { FakeHost } from './host.ts'
import { placedOnNodes } from './host-nodes.ts'
import { openVolumes, refuseOtherStores } from './volumes.ts'

/** The image property that says which hypervisor an image is made for; the scheduler filters on it too. */
const IMAGE_PROPERTY = 'hypervisor_type'

/** Afterwards the guest is remembered as running. */
export async function spawn(
  host: FakeHost,
  spec: InstanceSpec,
  signal: AbortSignal,
): Promise<void> {
  refuseRealImage(spec.image)
  await host.locks.runPreemptible(spec.id, signal, async (spawnSignal) => {
    await refuseOtherStores(host, spec)
    await host.faulty('spawn', spec, spawnSignal, () => boot(host, spec))
  })
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
  const { id, displayName, flavor } = spec
  const changed = spec.image.changes === undefined ? '' : ' and its changes'
  const line = `booted ${displayName} (${spec.hostname}) from image ${spec.image.name}${changed}, uuid ${id}`
  const image = spec.image.name
  const volumes = openVolumes(host, spec)
  if (volumes.every(({ isRoot }) => isRoot !== true))
    host.images.set(spec.image.sha256, { name: null, sizeBytes: spec.image.sizeBytes })
  const hardware = hardwareOf(spec)
  const off = {
    id,
    displayName,
    flavor,
    image,
    hardware,
    ...placedOnNodes(host, spec),
    powerState: 'shutdown',
    ...(volumes.length > 0 && { volumes }),
    console: [],
  } as const
  host.guests.put(withEvent(off, 'running', line))
}

/** The hardware of a guest with this spec. */
export function hardwareOf({ flavor, nics, configDrive }: InstanceSpec): FakeHardware {
  return {
    vcpus: flavor.vcpus,
    memoryMb: flavor.memoryMb,
    disks: 1 + Number(flavor.ephemeralGb > 0) + Number(flavor.swapMb > 0),
    macAddresses: nics.map(({ macAddress }) => macAddress),
    hasConfigDrive: configDrive !== undefined,
  }
}
