import { mkdir, readdir, rm, writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import {
  type AttachmentId,
  type HostId,
  newId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec, InstanceReport } from '#drivers/driver.ts'
import { IDENTITY_FILE } from '#drivers/store-identity.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { folderContent } from './libvirt-folder-content.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = [
  'libvirtd',
  'virsh',
  'qemu-system-x86_64',
  'qemu-io',
  'dnsmasq',
  'genisoimage',
  'syslinux',
]
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 120_000
const MIB = 1024 ** 2
const POOL = { volumePools: ['shared'] }
const why = whyNoGuests(COMMANDS)

interface World extends VolumesHarness {
  readonly libvirt: LibvirtHarness
  readonly pool: string
  pathOf(volume: VolumeRef): string
}

/** Two hosts over one daemon, with one storage pool for both. */
async function startWorld(name: string): Promise<World> {
  const libvirt = await startLibvirtHarness(name)
  const { owner } = libvirt
  const pool = join(libvirt.directory, 'pool')
  await mkdir(pool, { mode: 0o711 })
  await libvirt.virsh('pool-define-as', 'shared', 'dir', '--target', pool)
  const { pathOf, content, sealed, leaveHalf } = folderContent(pool, owner)
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    return libvirt.openAs(other, POOL, join(libvirt.directory, `state-${other.hostId}`))
  }
  return {
    ...libvirt,
    libvirt,
    pool,
    pathOf,
    open: () => libvirt.openAs(owner, POOL),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leaveHalf,
    volumeLeftovers: async (id) => (await readdir(pool)).filter((each) => each.includes(id)),
    content,
    sealed,
    // Its guests have no operating system.
    guestsRelease: false,
  }
}

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt', () => startWorld('volumes'))

    test('half a snapshot goes with its volume, and a folder that is not the store any more is left out', async () => {
      await using world = await startWorld('halves')
      await using driver = await world.open()
      const signal = () => AbortSignal.timeout(60_000)
      const [{ id: store } = { id: '' }] = await driver.volumes!.stores(signal())
      const volume = { store, id: newId<VolumeId>() }
      await driver.volumes!.create({ ...volume, bytes: MIB }, signal())
      await writeFile(`${world.pathOf(volume)}.${newId()}.part`, 'half')
      expect(await driver.volumes!.list(store, signal())).toMatchObject([{ snapshots: [] }])

      await driver.volumes!.destroy(volume, signal())
      expect(await world.volumeLeftovers(volume.id)).toEqual([])

      await rm(join(world.pool, IDENTITY_FILE))
      await using again = await world.open()
      expect(await again.volumes!.stores(signal())).toEqual([])
    })

    describe('a host without named pools', () => {
      let harness: LibvirtHarness
      const signal = () => AbortSignal.timeout(60_000)
      beforeAll(async () => {
        harness = await startLibvirtHarness('ownpool')
      })
      afterAll(() => harness?.[Symbol.asyncDispose]())

      test('defines one of its own, which is there again after the daemon forgot that it was active', async () => {
        await using driver = await harness.open()
        const [store] = await driver.volumes!.stores(signal())
        expect(store).toMatchObject({ engine: 'dir', isShared: false })

        await harness.virsh('pool-destroy', store!.name)

        const id = newId<VolumeId>()
        await driver.volumes!.create({ store: store!.id, id, bytes: MIB }, signal())
        expect(await harness.virsh('pool-list', '--name')).toContain(store!.name)
        expect(await driver.volumes!.list(store!.id, signal())).toMatchObject([{ id }])
      })

      test('leaves out a pool that is absent or has no folder, and says unavailable of its stores', async () => {
        await harness.virsh('pool-define-as', 'disks', 'logical', '--source-name', 'nowhere')
        const volumePools = ['disks', 'absent']
        await using driver = await harness.openAs(harness.owner, { volumePools })

        expect(await driver.volumes!.stores(signal())).toEqual([])
        const listed = driver.volumes!.list(newId(), signal())
        await expect(listed).rejects.toMatchObject({ kind: 'unavailable' })
      })
    })

    test('a server that is evacuated with its disks keeps its volumes, where its new host reaches them', async () => {
      await using world = await startWorld('evacuated')
      const signal = () => AbortSignal.timeout(60_000)
      const { owner, directory } = world.libvirt
      const virsh = (...args: string[]) => world.libvirt.virsh(...args)
      const sharedFolder = join(directory, 'states')
      const openIn = (name: string, volumePools: readonly string[]) => {
        const as = { cellId: owner.cellId, hostId: newId<HostId>() }
        return world.libvirt.openAs(as, { volumePools, sharedFolder }, join(sharedFolder, name))
      }
      await using former = await openIn('former', POOL.volumePools)
      await using apart = await openIn('apart', [])
      await using next = await openIn('next', POOL.volumePools)
      const [{ id: store } = { id: '' }] = await former.volumes!.stores(signal())
      const volume = { store, id: newId<VolumeId>() }
      const how = { attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false }
      const spec = instanceSpec(world.image)
      await former.volumes!.create({ ...volume, bytes: MIB }, signal())
      await former.spawn(spec, signal())
      const device = await former.volumes!.attach(spec.id, { ...volume, ...how }, signal())
      await virsh('destroy', `weir-${spec.id}`)
      await virsh('undefine', `weir-${spec.id}`)

      const refused = apart.move!.evacuate(spec, { runs: true }, signal())
      const named = { kind: 'conflict', message: expect.stringContaining(volume.id) }
      await expect(refused).rejects.toMatchObject(named)
      await next.move!.evacuate(spec, { runs: true }, signal())

      expect(await next.volumes!.attach(spec.id, { ...volume, ...how }, signal())).toBe(device)
      expect(await virsh('dumpxml', `weir-${spec.id}`)).toContain(volume.id)
      await next.destroy(spec.id, signal())
      await former.destroy(spec.id, signal())
      await next.volumes!.destroy(volume, signal())
    })

    describe('a guest with an operating system', () => {
      let world: World
      let driver: Driver
      let store: string
      const signal = () => AbortSignal.timeout(90_000)
      let image: ImageSpec

      beforeAll(async () => {
        const [started, built] = await Promise.all([
          startWorld('attached'),
          buildGuestImage(GUEST_CACHE),
        ])
        world = started
        image = world.libvirt.images.addFile(built.path, {
          ...built,
          diskFormat: 'qcow2',
          name: 'tiny',
        })
        driver = await world.open()
        store = (await driver.volumes!.stores(signal()))[0]!.id
      }, 300_000)
      afterAll(async () => {
        await driver?.[Symbol.asyncDispose]()
        await world?.[Symbol.asyncDispose]()
      })

      test('gets a volume while it runs, is told of its size, and releases it', async () => {
        const spec = instanceSpec(image)
        const ref = { store, id: newId<VolumeId>() }
        const attachmentId = newId<AttachmentId>()
        await driver.volumes!.create({ ...ref, bytes: 8 * MIB }, signal())
        await driver.spawn(spec, signal())
        const consoleOf = async () =>
          Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
        await expect.poll(consoleOf, { timeout: BOOT_MS }).toContain('READY')

        const wanted = { ...ref, attachmentId, isReadOnly: false, isShared: false }
        const device = await driver.volumes!.attach(spec.id, wanted, signal())
        const target = device.slice('/dev/'.length)
        const domain = `weir-${spec.id}`
        const xml = await world.libvirt.virsh('dumpxml', domain)
        expect(xml).toContain(`<alias name='ua-vol-${attachmentId}'/>`)
        expect(xml).toContain(`<serial>${ref.id}</serial>`)

        await driver.volumes!.extend(ref, 16 * MIB, signal())
        const sizes = await world.libvirt.virsh('domblkinfo', domain, target)
        expect(sizes).toMatch(new RegExp(`Capacity: +${16 * MIB}`))
        const snapshot = newId<VolumeSnapshotId>()
        await driver.volumes!.snapshot(ref, snapshot, signal())

        await driver.volumes!.detach(spec.id, attachmentId, signal())
        await driver.volumes!.detach(spec.id, attachmentId, signal())
        for (const flag of [[], ['--inactive']])
          expect(await world.libvirt.virsh('dumpxml', domain, ...flag)).not.toContain(ref.id)
        await driver.volumes!.destroySnapshot(ref, snapshot, signal())
        await driver.volumes!.destroy(ref, signal())
        await driver.destroy(spec.id, signal())
        expect(await world.leftovers(spec.id)).toEqual([])
      })

      test.runIf(isFullRun)(
        'that releases it late has it until then, and not any more',
        async () => {
          const spec = instanceSpec(image)
          const ref = { store, id: newId<VolumeId>() }
          const attachmentId = newId<AttachmentId>()
          const wanted = { ...ref, attachmentId, isReadOnly: false, isShared: false }
          await driver.volumes!.create({ ...ref, bytes: MIB }, signal())
          await driver.spawn({ ...spec, volumes: [wanted] }, signal())
          const consoleOf = async () =>
            Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
          await expect.poll(consoleOf, { timeout: BOOT_MS }).toContain('READY')
          await driver.pause!.pause(spec.id, signal())

          const detached = driver.volumes!.detach(spec.id, attachmentId, signal())
          await expect(detached).rejects.toMatchObject({ kind: 'conflict' })
          const report = async () => (await driver.list(signal())).find(({ id }) => id === spec.id)
          expect(await report()).not.toHaveProperty('released')
          const destroyed = driver.volumes!.destroy(ref, signal())
          await expect(destroyed).rejects.toMatchObject({ kind: 'conflict' })

          const told: InstanceReport[] = []
          await using _watch = driver.watch((each) => told.push(each))
          await driver.pause!.unpause(spec.id, signal())
          await expect.poll(report).toMatchObject({ released: [{ id: ref.id, attachmentId }] })
          const toldOf = () => told.filter(({ released }) => released !== undefined)
          await expect.poll(toldOf).toMatchObject([{ id: spec.id, released: [{ attachmentId }] }])
          // Another guest may have it already, and the instance is not given it back.
          const other = {
            ...instanceSpec(world.image),
            volumes: [{ ...wanted, attachmentId: newId<AttachmentId>() }],
          }
          await driver.spawn(other, signal())
          await driver.reboot(spec.id, 'hard', 0, signal())
          await driver.destroy(other.id, signal())
          await driver.volumes!.destroy(ref, signal())
          await driver.volumes!.detach(spec.id, attachmentId, signal())
          expect(await report()).not.toHaveProperty('released')
          await driver.destroy(spec.id, signal())
        },
      )

      test('starts from a volume of an image, and the next one from a snapshot that was made while it ran', async () => {
        const ref = { store, id: newId<VolumeId>() }
        const copy = { store, id: newId<VolumeId>() }
        const snapshot = newId<VolumeSnapshotId>()
        const volumes = driver.volumes!
        await volumes.create({ ...ref, bytes: 64 * MIB, from: { image } }, signal())
        const gone = { ...image, sha256: '0'.repeat(64) }
        const how = { isReadOnly: false, isShared: false, isRoot: true } as const
        const boot = async (root: VolumeRef) => {
          const attached = [{ ...root, ...how, attachmentId: newId<AttachmentId>() }]
          const spec = { ...instanceSpec(gone), volumes: attached }
          await driver.spawn(spec, signal())
          const consoleOf = async () =>
            Buffer.from(await driver.consoleLog!.read(spec.id, 65_536, signal())).toString()
          await expect.poll(consoleOf, { timeout: BOOT_MS }).toContain('READY')
          return spec.id
        }

        const first = await boot(ref)
        await volumes.snapshot(ref, snapshot, signal())
        await driver.destroy(first, signal())
        const from = { volume: ref.id, snapshot }
        await volumes.create({ ...copy, bytes: 64 * MIB, from }, signal())
        await volumes.destroySnapshot(ref, snapshot, signal())
        await volumes.destroy(ref, signal())

        await driver.destroy(await boot(copy), signal())
        await volumes.destroy(copy, signal())
      })

      test.runIf(isFullRun)(
        'that does not release it is a conflict, and has it until it starts again',
        async () => {
          const spec = instanceSpec(world.image)
          const ref = { store, id: newId<VolumeId>() }
          const attachmentId = newId<AttachmentId>()
          await driver.volumes!.create({ ...ref, bytes: MIB }, signal())
          await driver.spawn(spec, signal())
          const wanted = { ...ref, attachmentId, isReadOnly: false, isShared: false }
          await driver.volumes!.attach(spec.id, wanted, signal())

          const detach = () => driver.volumes!.detach(spec.id, attachmentId, signal())
          for (const _ of [1, 2]) await expect(detach()).rejects.toMatchObject({ kind: 'conflict' })
          const destroyed = driver.volumes!.destroy(ref, signal())
          await expect(destroyed).rejects.toMatchObject({ kind: 'conflict' })
          const released = async (from = driver) =>
            (await from.list(signal())).find(({ id }) => id === spec.id)?.released
          expect(await released()).toBeUndefined()
          await driver.reboot(spec.id, 'hard', 0, signal())
          await using again = await world.open()
          for (const each of [driver, again])
            expect(await released(each)).toEqual([{ id: ref.id, attachmentId }])
          await detach()
          expect(await released()).toBeUndefined()

          await driver.volumes!.destroy(ref, signal())
          await driver.destroy(spec.id, signal())
        },
      )
    })
  },
)
