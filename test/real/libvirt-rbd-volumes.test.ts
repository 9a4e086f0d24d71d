import { type ChildProcess, spawn } from 'node:child_process'
import { createHash } from 'node:crypto'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import {
  type AttachmentId,
  type HostId,
  newId,
  type VolumeId,
  type VolumeSnapshotId,
} from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { run } from '#drivers/run.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { type CephRbd, isCephRbdHere, startCephRbd } from '#test/env/ceph/rbd.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import type { VolumesHarness } from '../contract/volumes-world.ts'
import { type LibvirtHarness, startLibvirtHarness } from './libvirt-harness.ts'
import { giveRbdPool, rbdContent, rbdSettings } from './libvirt-rbd-harness.ts'
import { whyNoGuests } from './requirements.ts'

const MIB = 1024 ** 2
const LIMIT = { timeoutMs: 20_000 }
const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'dnsmasq', 'genisoimage']
const why = isFullRun && isCephRbdHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no Ceph'

interface World
  extends VolumesHarness,
    Pick<LibvirtHarness, 'directory' | 'owner' | 'images' | 'host'> {
  readonly ceph: CephRbd
  readonly specOf: ReturnType<typeof rbdContent>['specOf']
}

/** Two hosts over one daemon, with one pool of Ceph for both. */
async function startWorld(): Promise<World> {
  await using owned = new AsyncDisposableStack()
  const ceph = owned.use(await startCephRbd())
  const libvirt = owned.use(await startLibvirtHarness('rbd'))
  owned.use(await giveRbdPool(libvirt, ceph))
  const { owner } = libvirt
  const settings = rbdSettings(ceph)
  const { read, write, sealed, specOf, leftovers } = rbdContent(ceph, owner)
  const openFrom = (cellId: typeof owner.cellId) => {
    const other = { cellId, hostId: newId<HostId>() }
    return libvirt.openAs(other, settings, join(libvirt.directory, `state-${other.hostId}`))
  }
  const parts = owned.move()
  return {
    ...libvirt,
    ceph,
    specOf,
    open: () => libvirt.openAs(owner, settings),
    openNeighbour: () => openFrom(owner.cellId),
    openOtherCell: () => openFrom(newId()),
    leaveHalf: async (volume) => {
      await ceph.rbd('create', '--size', '1M', `${specOf(volume)}.part`)
    },
    volumeLeftovers: leftovers,
    content: { read, write },
    sealed,
    // Its guests have no operating system.
    guestsRelease: false,
    [Symbol.asyncDispose]: () => parts.disposeAsync(),
  }
}

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts in a Ceph${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt (rbd)', startWorld)

    test('a volume that a rebuild has left half written goes to no guest, and a repeat makes it whole', async () => {
      await using world = await startWorld()
      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(60_000)
      const stores = async () => (await volumes.stores(signal()))[0]?.id
      const store = await waitFor('a store', stores, 60_000)
      const [root, copy] = [newId<VolumeId>(), newId<VolumeId>()]
      const [before, now] = [newId<VolumeSnapshotId>(), newId<VolumeSnapshotId>()]
      const bytes = 8 * MIB
      await volumes.create({ store, id: root, bytes, from: { image: world.image } }, signal())
      await volumes.snapshot({ store, id: root }, before, signal())
      const attachmentId = newId<AttachmentId>()
      const how = { isReadOnly: false, isShared: false, isRoot: true } as const
      const wanted = { store, id: root, attachmentId, ...how }
      const spec = { ...instanceSpec(world.image), volumes: [wanted] }
      await driver.spawn(spec, signal())
      await driver.stop(spec.id, 0, signal())
      const path = world.specOf({ id: root })
      const mark = `${path.split('/').at(-1)} ${bytes}`
      const waits = () => world.ceph.rbd('resize', '--allow-shrink', '--size', '0B', path)
      // The process that had it open is known to be gone only after a moment.
      await waitFor(
        'no client',
        async () =>
          waits().then(
            () => true,
            () => false,
          ),
        60_000,
      )
      await world.ceph.rbd('image-meta', 'set', path, 'weir_reimaging', mark)

      const half = { kind: 'conflict', message: expect.stringContaining('half written') }
      await expect(driver.start(spec.id, signal())).rejects.toMatchObject(half)
      const snapshot = volumes.snapshot({ store, id: root }, now, signal())
      await expect(snapshot).rejects.toMatchObject(half)
      const from = { volume: root, snapshot: before }
      await volumes.create({ store, id: copy, bytes, from }, signal())
      const other = { ...instanceSpec(world.image), volumes: [{ ...wanted, id: copy }] }
      await driver.spawn(other, signal())
      await driver.destroy(other.id, signal())

      const options = { keepsEphemeral: false, runs: true, reimages: true }
      await driver.rebuild!.rebuild(spec, options, signal())
      const [report] = (await volumes.list(store, signal())).filter(({ id }) => id === root)
      expect(report).toEqual({ id: root, bytes, snapshots: [before] })
      await driver.destroy(spec.id, signal())
      await volumes.destroySnapshot({ store, id: root }, before, signal())
      for (const id of [copy, root]) await volumes.destroy({ store, id }, signal())
    }, 600_000)

    test('copies of copies do not grow ever deeper, and nothing is left once all are gone', async () => {
      await using world = await startWorld()
      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(60_000)
      const store = await waitFor(
        'a store',
        async () => (await volumes.stores(signal()))[0]?.id,
        60_000,
      )
      const chain = Array.from({ length: 6 }, () => ({ store, id: newId<VolumeId>(), bytes: MIB }))
      const [first, ...copies] = chain
      await volumes.create(first!, signal())
      await world.content!.write(first!, 'first')
      for (const [index, copy] of copies.entries())
        await volumes.create({ ...copy, from: { volume: chain[index]!.id } }, signal())

      const parents = await Promise.all(
        chain.map(async (each) => {
          const info = await world.ceph.rbd('info', '--format', 'json', world.specOf(each))
          return 'parent' in JSON.parse(info)
        }),
      )
      expect(parents).toEqual([false, true, true, true, true, false])
      for (const each of chain.slice(0, -1)) await volumes.destroy(each, signal())
      expect((await world.content!.read(chain.at(-1)!)).toString('latin1', 0, 5)).toBe('first')
      expect(await volumes.list(store, signal())).toMatchObject([{ id: chain.at(-1)!.id }])
      await volumes.destroy(chain.at(-1)!, signal())
      expect(await world.volumeLeftovers('weir' as VolumeId)).toEqual([])
    }, 300_000)

    test('a half-made volume that a program which died had open is made again, and destroyed', async () => {
      await using world = await startWorld()
      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(120_000)
      const stores = async () => (await volumes.stores(signal()))[0]?.id
      const store = await waitFor('a store', stores, 60_000)
      const [again, gone] = [1, 2].map(() => ({ store, id: newId<VolumeId>() })) as [
        VolumeRef,
        VolumeRef,
      ]
      for (const ref of [again, gone]) {
        await world.leaveHalf(ref)
        await openedAndKilled(world.ceph, `${world.specOf(ref)}.part`)
      }

      await Promise.all([
        volumes.create({ ...again, bytes: MIB }, signal()),
        volumes.destroy(gone, signal()),
      ])

      expect(await volumes.list(store, signal())).toMatchObject([{ id: again.id, bytes: MIB }])
      await volumes.destroy(again, signal())
      expect(await world.volumeLeftovers('weir' as VolumeId)).toEqual([])
    }, 300_000)

    test('what a host that was killed was copying ends with it, and is made again', async () => {
      await using world = await startWorld()
      const { directory, owner, images, host, ceph } = world
      const id = newId<VolumeId>()
      const image = await largeImage(join(directory, 'large'))
      const stateDirectory = join(directory, `state-${owner.cellId}`)
      const own = { uri: host.uri, virtType: 'qemu', vcpus: 1, memoryMb: 512, diskGb: 20 }
      const settings = { ...own, ...rbdSettings(ceph) }
      const child = makingVolume({ environment: { owner, stateDirectory }, settings, image, id })
      const copying = async () => {
        const command = `^qemu-img convert .*${directory}/`
        return (await run('pgrep', ['-f', command], { ...LIMIT, codes: [0, 1] })).stdout
      }
      const poll = { timeout: 60_000, interval: 20 }
      try {
        await expect.poll(copying, poll).not.toBe('')
        // It cannot end by itself.
        await ceph.killStore()
        expect(await copying()).not.toBe('')
        child.kill('SIGKILL')
        await expect.poll(copying).toBe('')
      } finally {
        child.kill('SIGKILL')
        const left = await copying()
        if (left !== '') process.kill(Number(left), 'SIGKILL')
        await ceph.startStore()
      }

      await using driver = await world.open()
      const volumes = driver.volumes!
      const signal = () => AbortSignal.timeout(120_000)
      const stores = async () => (await volumes.stores(signal()))[0]?.id
      const ref = { store: await waitFor('a store', stores, 60_000), id }
      const again = images.addFile(image.path, image)
      await volumes.create({ ...ref, bytes: image.sizeBytes, from: { image: again } }, signal())

      const content = createHash('sha256').update(await world.content!.read(ref))
      expect(content.digest('hex')).toBe(image.sha256)
      await volumes.destroy(ref, signal())
      expect(await world.volumeLeftovers('weir' as VolumeId)).toEqual([])
    }, 300_000)
  },
)

/** Afterwards a program that had the image open, and wrote nothing, has died; Ceph does not know that yet. */
async function openedAndKilled(ceph: CephRbd, spec: string): Promise<void> {
  const disk = `rbd:${spec}:id=admin:conf=${ceph.cluster.configuration}`
  const child = spawn('qemu-io', ['-f', 'raw', disk], { stdio: ['pipe', 'ignore', 'inherit'] })
  const isOpen = async () => (await ceph.rbd('status', spec)).includes('watcher=')
  await waitFor('the program to have it open', isOpen, LIMIT.timeoutMs)
  child.kill('SIGKILL')
  expect(await isOpen()).toBe(true)
}

interface LargeImage {
  readonly path: string
  readonly sha256: string
  readonly sizeBytes: number
}

/** Copying it takes its time. */
async function largeImage(path: string): Promise<LargeImage> {
  const content = Buffer.alloc(256 * MIB, 0x5a)
  await writeFile(path, content)
  const sha256 = createHash('sha256').update(content).digest('hex')
  return { path, sha256, sizeBytes: content.length }
}

/** A process of its own whose host makes a volume of an image. */
function makingVolume(given: {
  readonly environment: object
  readonly settings: object
  readonly image: LargeImage
  readonly id: VolumeId
}): ChildProcess {
  const at = (path: string) => JSON.stringify(new URL(path, import.meta.url).href)
  const script = `import { createLibvirtDriver } from ${at('../../drivers/libvirt/driver.ts')}
    import { TestImages } from ${at('../../drivers/testing/test-images.ts')}
    const { environment, settings, image, id } = JSON.parse(process.argv[1])
    const images = new TestImages()
    const driver = await createLibvirtDriver({ ...environment, images }, settings)
    const signal = AbortSignal.timeout(600_000)
    let store
    while (store === undefined) store = (await driver.volumes.stores(signal))[0]
    const from = { image: images.addFile(image.path, image) }
    await driver.volumes.create({ store: store.id, id, bytes: image.sizeBytes, from }, signal)`
  return spawn(process.execPath, ['--input-type=module', '-e', script, JSON.stringify(given)], {
    stdio: 'inherit',
  })
}
