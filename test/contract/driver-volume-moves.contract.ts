import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type AttachmentId, type ImageId, newId, type VolumeId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import type { Driver, ImageSpec, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { AttachmentSpec } from '#drivers/volumes.ts'
import { MIB } from './volumes-world.ts'

const OPERATION_MS = 60_000
const CHUNK_BYTES = 256 * 1024

/** Two hosts that reach one store and take guests from each other. */
export interface LinkedHosts extends AsyncDisposable {
  readonly here: Driver
  readonly there: Driver
  /** An image that both can boot, in raw format. */
  readonly image: ImageSpec
}

/** The contract of every driver that carries guests with volumes between hosts. */
export function driverVolumeMovesContract(name: string, start: () => Promise<LinkedHosts>): void {
  describe(`the ${name} driver carries guests with volumes`, () => {
    let hosts: LinkedHosts
    const signal = () => AbortSignal.timeout(OPERATION_MS)

    let store: string

    beforeAll(async () => {
      hosts = await start()
      const first = async () => (await hosts.here.volumes!.stores(signal()))[0]?.id
      store = await waitFor('a store', first, OPERATION_MS)
    }, 120_000)
    afterAll(() => hosts?.[Symbol.asyncDispose]())

    /** A guest that runs here, with one new volume for each of these. */
    const newGuest = async (
      ...disks: readonly Pick<AttachmentSpec, 'isRoot'>[]
    ): Promise<InstanceSpec & { readonly volumes: readonly AttachmentSpec[] }> => {
      const { here, image } = hosts
      const volumes: AttachmentSpec[] = []
      for (const disk of disks) {
        const id = newId<VolumeId>()
        const from = disk.isRoot === true ? { from: { image } } : {}
        await here.volumes!.create({ store, id, bytes: 4 * MIB, ...from }, signal())
        const how = { attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false }
        volumes.push({ store, id, ...how, ...disk })
      }
      const isInStore = disks.some(({ isRoot }) => isRoot === true)
      const gone = { ...image, id: newId<ImageId>(), sha256: '0'.repeat(64) }
      const spec = { ...instanceSpec(isInStore ? gone : image), volumes }
      await here.spawn(spec, signal())
      return spec
    }
    const carry = async ({ id }: InstanceSpec) => {
      for (const { name: file, sizeBytes } of await hosts.here.move!.files(id, signal()))
        for (let offset = 0; offset < sizeBytes; offset += CHUNK_BYTES) {
          const part = { name: file, offset, maxBytes: CHUNK_BYTES }
          const bytes = await hosts.here.move!.read(id, part, signal())
          await hosts.there.move!.write(id, { name: file, offset }, bytes, signal())
        }
    }
    const stateOn = async (driver: Driver, { id }: InstanceSpec) =>
      (await driver.list(signal())).find((report) => report.id === id)?.powerState
    const refused = (work: Promise<unknown>) =>
      expect(work).rejects.toMatchObject({ kind: 'conflict' })
    /** Whichever host is asked. */
    const expectInUse = async (spec: InstanceSpec) => {
      for (const volume of spec.volumes ?? [])
        for (const driver of [hosts.here, hosts.there])
          await refused(driver.volumes!.destroy(volume, signal()))
    }
    const expectFree = async (spec: InstanceSpec) => {
      for (const volume of spec.volumes ?? []) await hosts.here.volumes!.destroy(volume, signal())
    }

    test.each([
      ['of its own', [{}]],
      ['in the store, and another one', [{ isRoot: true }, {}]],
    ] as const)(
      'a guest with its first disk %s is packed, arrives with its volumes, comes back and goes again',
      async (_, disks) => {
        const { here, there } = hosts
        const spec = await newGuest(...disks)
        const [data] = spec.volumes.toReversed()

        for (const _ of [1, 2]) await here.move!.pack(spec.id, 0, signal())
        await carry(spec)
        for (const _ of [1, 2]) await there.move!.arrive(spec, true, signal())
        expect(await stateOn(there, spec)).toBe('running')
        expect(await stateOn(here, spec)).toBe('shutdown')
        await expectInUse(spec)
        expect(await there.volumes!.attach(spec.id, data!, signal())).toBe('/dev/vdb')

        await there.destroy(spec.id, signal())
        await here.move!.unpack(spec.id, true, signal())
        expect(await stateOn(here, spec)).toBe('running')
        await expectInUse(spec)

        await here.move!.pack(spec.id, 0, signal())
        await carry(spec)
        await there.move!.arrive(spec, false, signal())
        await here.destroy(spec.id, signal())
        await there.start(spec.id, signal())
        await expectInUse(spec)
        await there.destroy(spec.id, signal())
        await expectFree(spec)
      },
    )

    test.each([
      ['of its own', [{}]],
      ['in the store', [{ isRoot: true }]],
    ] as const)(
      'a guest with its first disk %s goes over with its volumes while it runs',
      async (_, disks) => {
        const { here, there } = hosts
        const spec = await newGuest(...disks)

        const announced = await here.liveMove!.announce(spec.id, signal())
        await carry(spec)
        const expected = await there.liveMove!.expect(spec, announced, signal())
        for (const _ of [1, 2]) await here.liveMove!.send(spec.id, expected, signal())
        for (const _ of [1, 2]) await there.liveMove!.finish(spec, true, signal())

        expect(await stateOn(there, spec)).toBe('running')
        expect(await stateOn(here, spec)).toBe('shutdown')
        await expectInUse(spec)
        await here.destroy(spec.id, signal())
        await there.reboot(spec.id, 'hard', 0, signal())
        await expectInUse(spec)
        await there.destroy(spec.id, signal())
        await expectFree(spec)
      },
    )

    test('a guest does not arrive without the store of a volume, and leaves nothing', async () => {
      const { here, there } = hosts
      const spec = await newGuest({})
      const elsewhere = spec.volumes.map((volume) => ({ ...volume, store: newId<VolumeId>() }))
      await here.move!.pack(spec.id, 0, signal())
      await carry(spec)

      const arriving = there.move!.arrive({ ...spec, volumes: elsewhere }, true, signal())
      await expect(arriving).rejects.toMatchObject({ kind: 'not-found' })

      expect(await stateOn(there, spec)).toBeUndefined()
      await here.move!.unpack(spec.id, true, signal())
      await here.destroy(spec.id, signal())
      await there.destroy(spec.id, signal())
      await expectFree(spec)
    })
  })
}
