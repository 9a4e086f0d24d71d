import { mkdir, mkdtemp, readdir, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { type AttachmentId, type CellId, type HostId, newId, type VolumeId } from '#common/ids.ts'
import { createFakeDriver } from '#drivers/fake/driver.ts'
import { fakeSettings } from '#drivers/fake/settings.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { TestImages } from '#drivers/testing/test-images.ts'
import { driverVolumeMovesContract } from './driver-volume-moves.contract.ts'
import { driverVolumesContract } from './driver-volumes.contract.ts'
import type { VolumesHarness } from './volumes-world.ts'

const GIB = 1024 ** 3
const images = new TestImages()
const image = images.add(Buffer.from('x'), { properties: { hypervisor_type: 'fake' } })
const signal = () => AbortSignal.timeout(10_000)

async function startFake(settings: Readonly<Record<string, string>> = {}): Promise<VolumesHarness> {
  const folder = await mkdtemp(join(tmpdir(), 'weir-fake-'))
  const volumeStore = join(folder, 'store')
  const cellId = newId<CellId>()
  const open = async (name: string, owner: { readonly cellId: CellId; readonly hostId: HostId }) =>
    createFakeDriver(
      { stateDirectory: join(folder, name), owner },
      fakeSettings({ volume_store: volumeStore, ...settings }),
    )
  const own = { cellId, hostId: newId<HostId>() }
  const namesOf = async (id: VolumeId) =>
    (await readdir(volumeStore)).filter((name) => name.includes(id))
  return {
    open: () => open('host', own),
    openNeighbour: () => open('neighbour', { cellId, hostId: newId() }),
    openOtherCell: () => open('other', { cellId: newId(), hostId: newId() }),
    image,
    hanging: (spec) => spec,
    refused: { 'asks for a real guest': { ...image, properties: {} } },
    shelve: (content, diskFormat) => images.add(content, { diskFormat }),
    leftovers: async () => [],
    leaveHalf: async ({ id }) => {
      await mkdir(join(volumeStore, `.part-${cellId}.${id}`, 'openers'), { recursive: true })
    },
    volumeLeftovers: namesOf,
    guestsRelease: true,
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  }
}

driverVolumesContract('fake', startFake)
driverVolumesContract('fake (whose store can do little)', () =>
  startFake({ volume_store_lacks: 'snapshots,extend-in-use,copy-in-use' }),
)
driverVolumesContract('fake (whose store copies nothing that is shared)', () =>
  startFake({ volume_store_lacks: 'copy-shared-in-use' }),
)
driverVolumeMovesContract('fake', async () => {
  const world = await startFake()
  const [here, there] = [await world.open(), await world.openNeighbour()]
  const disposeAll = async () => {
    for (const each of [here, there, world]) await each[Symbol.asyncDispose]()
  }
  return { here, there, image, [Symbol.asyncDispose]: disposeAll }
})

describe('volumes of a fake host', () => {
  let stateDirectory: string
  const owner = { cellId: newId<CellId>(), hostId: newId<HostId>() }
  const open = (settings: Readonly<Record<string, string>> = {}) =>
    createFakeDriver({ stateDirectory, owner }, fakeSettings(settings))
  beforeEach(async () => {
    stateDirectory = await mkdtemp(join(tmpdir(), 'weir-fake-'))
  })
  afterEach(() => rm(stateDirectory, { recursive: true, force: true }))

  test('are in a store of its own, with their attachments, after a restart', async () => {
    const spec = instanceSpec(image)
    const id = newId<VolumeId>()
    const attachmentId = newId<AttachmentId>()
    const flags = { isReadOnly: false, isShared: false }
    let store = ''
    {
      await using driver = open({ volume_store_gb: '10' })
      const [report] = await driver.volumes!.stores(signal())
      expect(report).toMatchObject({ isShared: false, totalBytes: 10 * GIB, freeBytes: 10 * GIB })
      store = report!.id
      await driver.spawn(spec, signal())
      await driver.volumes!.create({ store, id, bytes: GIB }, signal())
      await driver.volumes!.attach(spec.id, { store, id, attachmentId, ...flags }, signal())
    }

    await using again = open({ volume_store_gb: '10' })

    expect(await again.volumes!.stores(signal())).toMatchObject([{ id: store, freeBytes: 9 * GIB }])
    expect((await again.diagnostics!.read(spec.id, signal())).disks).toHaveLength(2)
    const destroyed = again.volumes!.destroy({ store, id }, signal())
    await expect(destroyed).rejects.toMatchObject({ kind: 'conflict' })
  })

  test('are not there where a host keeps nothing', () => {
    expect(open({ persist: 'false' }).volumes).toBeUndefined()
  })

  test('fail where a test asks for it, one volume alone, and a lost answer is not a lost volume', async () => {
    await using driver = open()
    const [{ id: store } = { id: '' }] = await driver.volumes!.stores(signal())
    const [first, second] = [newId<VolumeId>(), newId<VolumeId>()]
    const effect = { do: 'fail', kind: 'unavailable' } as const
    driver.faults.set([{ method: 'createVolume', instance: first, effect }])

    const lost = driver.volumes!.create({ store, id: first, bytes: GIB }, signal())
    await expect(lost).rejects.toMatchObject({ kind: 'unavailable' })
    await driver.volumes!.create({ store, id: second, bytes: GIB }, signal())

    expect(await driver.volumes!.list(store, signal())).toHaveLength(2)
  })

  test('of a guest that was evacuated stay open when its former host forgets the guest', async () => {
    const volumeStore = join(stateDirectory, 'store')
    const settings = fakeSettings({ volume_store: volumeStore })
    const { cellId } = owner
    const hosts = ['a', 'b'].map((name) =>
      createFakeDriver(
        { stateDirectory: join(stateDirectory, name), owner: { cellId, hostId: newId() } },
        settings,
      ),
    )
    const [former, next] = [hosts[0]!, hosts[1]!]
    const [{ id: store } = { id: '' }] = await former.volumes!.stores(signal())
    const id = newId<VolumeId>()
    const attachmentId = newId<AttachmentId>()
    const wanted = { store, id, attachmentId, isReadOnly: false, isShared: false }
    const spec = instanceSpec(image)
    await former.volumes!.create({ store, id, bytes: GIB }, signal())
    await former.spawn(spec, signal())
    await former.volumes!.attach(spec.id, wanted, signal())

    await next.move!.evacuate(spec, { runs: true }, signal())
    await next.volumes!.attach(spec.id, wanted, signal())
    await former.destroy(spec.id, signal())

    const destroyed = next.volumes!.destroy({ store, id }, signal())
    await expect(destroyed).rejects.toMatchObject({ kind: 'conflict' })
    for (const host of hosts) await host[Symbol.asyncDispose]()
  })
})
