import { afterAll, afterEach, beforeAll, expect } from 'vitest'
import { type AttachmentId, type InstanceId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { DiskImage, Driver } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec, StoreReport, VolumeRef, VolumeSpec } from '#drivers/volumes.ts'
import type { StoreLack } from '#openapi/wire/volume.ts'
import type { DriverHarness } from './drivers.contract.ts'

/** The world of a driver with volumes: `open` gives a host that reaches one store, which other hosts reach, too. */
export interface VolumesHarness extends DriverHarness {
  /** Another host of the same cell, over the same store. */
  openNeighbour(): Promise<Driver>
  /** A host of another cell, over the same store. */
  openOtherCell(): Promise<Driver>
  /** Leaves what a host leaves in the store that dies while it makes the volume. */
  leaveHalf(volume: VolumeRef): Promise<void>
  /** The names in the store that are about the volume. */
  volumeLeftovers(id: VolumeId): Promise<readonly string[]>
  /** What a volume holds; absent: volumes have no content. */
  readonly content?: {
    read(volume: VolumeRef): Promise<Buffer>
    write(volume: VolumeRef, start: string): Promise<void>
  }
  /** What an encrypted volume holds; absent: volumes have no content. */
  readonly sealed?: {
    /** Fills the beginning with this byte. */
    readonly put: (volume: VolumeRef, key: string, byte: number) => Promise<void>
    /** True if the key opens it and the beginning is this byte. */
    readonly has: (volume: VolumeRef, key: string, byte: number) => Promise<boolean>
    /** The bytes in the store. */
    readonly raw: (volume: VolumeRef) => Promise<Buffer>
  }
  /** The size of a small volume; absent: 4 MiB. */
  readonly unitBytes?: number
  /** The name of the store to use; absent: the first. */
  readonly storeName?: string
  /** False: a volume that was extended does not go back to an earlier snapshot; absent: it does. */
  readonly revertsExtended?: false
  /** False: it rescues no guest that starts from a volume; absent: it does. */
  readonly rescuesRoots?: false
  /** False: guests that run do not release a disk. */
  readonly guestsRelease: boolean
}

const OPERATION_MS = 60_000
export const MIB = 1024 ** 2

/** The whole content of a disk that a driver gives away. */
export async function bytesOf(disk: DiskImage): Promise<Buffer> {
  const parts: Uint8Array[] = []
  for await (const part of disk.content()) parts.push(part)
  return Buffer.concat(parts)
}

export type VolumesWorld = ReturnType<typeof volumesWorld>

/** Two hosts over one store for the tests of the suite that calls it; each test leaves nothing there. */
export function volumesWorld(start: () => Promise<VolumesHarness>) {
  let harness: VolumesHarness
  let driver: Driver
  let neighbour: Driver
  let store: StoreReport
  const spawned = new Map<InstanceId, Driver>()
  const made: VolumeRef[] = []
  const unit = () => harness.unitBytes ?? 4 * MIB
  const storesOf = async (on: Driver) => {
    const all = await on.volumes!.stores(signal())
    return all.filter(({ name }) => name === (harness.storeName ?? name))
  }
  const signal = () => AbortSignal.timeout(OPERATION_MS)
  const volumes = () => driver.volumes!
  const reportOf = async ({ id }: VolumeRef) =>
    (await volumes().list(store.id, signal())).find((report) => report.id === id)
  const newRef = (): VolumeRef => {
    const ref = { store: store.id, id: newId<VolumeId>() }
    made.push(ref)
    return ref
  }
  const newVolume = async (more: Partial<VolumeSpec> = {}) => {
    const spec = { ...newRef(), bytes: unit(), ...more }
    await volumes().create(spec, signal())
    return spec
  }
  const newGuest = async (on = driver) => {
    const spec = instanceSpec(harness.image)
    spawned.set(spec.id, on)
    await on.spawn(spec, signal())
    return spec.id
  }
  const attachment = (
    { store, id }: VolumeRef,
    more: Partial<AttachmentSpec> = {},
  ): AttachmentSpec => {
    const attachmentId = newId<AttachmentId>()
    return { store, id, attachmentId, isReadOnly: false, isShared: false, ...more }
  }
  const ready = async (id: InstanceId, on = driver) => {
    if (!harness.guestsRelease) await on.stop(id, 0, signal())
  }
  const refused = (work: Promise<unknown>, kind: string) =>
    expect(work).rejects.toMatchObject({ kind })

  beforeAll(async () => {
    harness = await start()
    driver = await harness.open()
    neighbour = await harness.openNeighbour()
    // A host with much to do may be slow to see it.
    store = await waitFor('a store', async () => (await storesOf(driver))[0], OPERATION_MS)
  }, 120_000)
  afterEach(async () => {
    for (const [id, on] of spawned) {
      await on.destroy(id, signal())
      expect(await harness.leftovers(id)).toEqual([])
    }
    spawned.clear()
    for (const ref of made.toReversed()) {
      const { snapshots = [] } = (await reportOf(ref)) ?? {}
      for (const each of snapshots) await volumes().destroySnapshot(ref, each, signal())
      await volumes().destroy(ref, signal())
      expect(await harness.volumeLeftovers(ref.id)).toEqual([])
    }
    made.length = 0
  })
  afterAll(async () => {
    await driver?.[Symbol.asyncDispose]()
    await neighbour?.[Symbol.asyncDispose]()
    await harness?.[Symbol.asyncDispose]()
  })

  return {
    get harness() {
      return harness
    },
    get driver() {
      return driver
    },
    get neighbour() {
      return neighbour
    },
    get store() {
      return store
    },
    /** The size of a small volume, in bytes. */
    get unit() {
      return unit()
    },
    storesOf,
    /** Whether the store says that it cannot do this. */
    lacks: (what: StoreLack) => store.lacks?.includes(what) === true,
    /** Destroyed after the test, on its host. */
    spawned,
    signal,
    volumes,
    reportOf,
    newRef,
    newVolume,
    newGuest,
    attachment,
    ready,
    refused,
  }
}
