import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, ImageSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeKey } from '#drivers/volumes.ts'
import type { LinkedHosts } from '../contract/driver-volume-moves.contract.ts'
import type { LibvirtHarness } from './libvirt-harness.ts'
import { printed } from './libvirt-pool-hosts.ts'

const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 180_000
const MIB = 1024 ** 2
const MARKER = 'the-guest-wrote-this'
const encryption = { keyBits: 256 } as const

/** Two hosts with one store that encrypts. */
export interface EncryptingHosts extends LinkedHosts {
  readonly one: LibvirtHarness
  readonly two: LibvirtHarness
  /** The bytes that the store has of a volume, or of a snapshot of it. */
  readonly raw: (id: VolumeId, snapshot?: VolumeSnapshotId) => Promise<Buffer>
  /** A guest can be shut out of its volumes while its host does not answer. */
  readonly fences: boolean
}

/** No byte of the store shows what a guest writes to an encrypted volume, and the guest reads it on every host and after every act. */
export function encryptedGuests(start: () => Promise<EncryptingHosts>): void {
  let hosts: EncryptingHosts
  let image: ImageSpec
  let store: string
  const signal = () => AbortSignal.timeout(BOOT_MS)

  const imageOn = async ({ images }: LibvirtHarness): Promise<ImageSpec> => {
    const built = await buildGuestImage(GUEST_CACHE)
    return images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
  }

  beforeAll(async () => {
    hosts = await start()
    image = await imageOn(hosts.one)
    store = (await hosts.here.volumes!.stores(signal()))[0]!.id
  }, 300_000)
  afterAll(() => hosts?.[Symbol.asyncDispose](), 60_000)

  const newKey = (): VolumeKey => ({ id: newId<VolumeId>(), key: newId<string>().repeat(2) })
  const withKeys = async <T>(on: Driver, keys: readonly VolumeKey[], work: () => Promise<T>) => {
    const holder = newId<string>()
    await on.volumes!.keys!.hold(holder, keys, signal())
    try {
      return await work()
    } finally {
      await on.volumes!.keys!.drop(holder, signal())
    }
  }
  const attachment = (id: VolumeId) => {
    const attachmentId = newId<AttachmentId>()
    return { store, id, attachmentId, isReadOnly: false, isShared: false }
  }

  async function expectSealed(id: VolumeId, snapshot?: VolumeSnapshotId): Promise<void> {
    const bytes = await hosts.raw(id, snapshot)
    expect(bytes.subarray(0, 6).toString('latin1')).toBe('LUKS\xba\xbe')
    expect(bytes.includes(MARKER)).toBe(false)
  }

  test('a guest starts from one, writes to another, and has both on the next host', async () => {
    const { here, there, one } = hosts
    const [root, data, copy] = [newKey(), newKey(), newKey()]
    const volumes = here.volumes!
    const bytes = 64 * MIB
    await withKeys(here, [root], () =>
      volumes.create({ store, id: root.id, bytes, encryption, from: { image } }, signal()),
    )
    await withKeys(here, [data], () =>
      volumes.create({ store, id: data.id, bytes: 8 * MIB, encryption }, signal()),
    )
    const gone = { ...image, sha256: '0'.repeat(64) }
    const boot = { ...attachment(root.id), isRoot: true as const }
    const other = attachment(data.id)
    const spec = { ...instanceSpec(gone), volumes: [boot] }
    await withKeys(here, [root], () => here.spawn(spec, signal()))
    await withKeys(here, [data], () => volumes.attach(spec.id, other, signal()))
    expect(await one.virsh('secret-list')).not.toMatch(/weir-/)

    const write = `printf ${MARKER} | dd of=/dev/vdb conv=fsync 2>/dev/null; echo wri''tten`
    expect(await printed(here, spec, write)).toBe('written')
    await expectSealed(data.id)
    await volumes.extend({ store, id: data.id }, 16 * MIB, signal())
    expect(await printed(here, spec, 'cat /sys/block/vdb/size')).toBe(String((16 * MIB) / 512))

    const snapshot = newId<VolumeSnapshotId>()
    await withKeys(here, [data], () => volumes.snapshot({ store, id: data.id }, snapshot, signal()))
    await expectSealed(data.id, snapshot)
    const read = `dd if=/dev/vdb bs=1 count=${MARKER.length} 2>/dev/null; echo`
    await volumes.detach(spec.id, other.attachmentId, signal())
    await withKeys(here, [data], () => volumes.attach(spec.id, other, signal()))
    expect(await printed(here, spec, read)).toBe(MARKER)

    const moving = { ...spec, volumes: [boot, other] }
    await there.volumes!.keys!.hold('move', [root, data], signal())
    const announced = await here.liveMove!.announce(spec.id, signal())
    const expected = await there.liveMove!.expect(moving, announced, signal())
    await here.liveMove!.send(spec.id, expected, signal())
    await there.liveMove!.finish(moving, true, signal())
    await there.volumes!.keys!.drop('move', signal())
    expect(await printed(there, spec, read)).toBe(MARKER)
    await here.destroy(spec.id, signal())
    await there.stop(spec.id, 0, signal())
    await expect(there.start(spec.id, signal())).rejects.toThrow()
    await withKeys(there, [root, data], () => there.start(spec.id, signal()))
    expect(await printed(there, spec, read)).toBe(MARKER)

    await there.destroy(spec.id, signal())
    const from = { volume: data.id, snapshot }
    await withKeys(here, [data, copy], () =>
      volumes.create({ store, id: copy.id, bytes: 16 * MIB, encryption, from }, signal()),
    )
    const again = { ...instanceSpec(image), volumes: [attachment(copy.id)] }
    await withKeys(here, [copy], () => here.spawn(again, signal()))
    expect(await printed(here, again, read)).toBe(MARKER)
    await expectSealed(copy.id)
    await here.destroy(again.id, signal())
    await volumes.destroySnapshot({ store, id: data.id }, snapshot, signal())
    for (const { id } of [root, data, copy]) await volumes.destroy({ store, id }, signal())
  }, 900_000)

  test('a guest has one through a rebuild, a rescue, a resize and an evacuation', async () => {
    const { here, there, one, two } = hosts
    const data = newKey()
    const wanted = attachment(data.id)
    const spec = { ...instanceSpec(image), volumes: [wanted] }
    const device = `/dev/$(grep -l ^${data.id.slice(0, 20)} /sys/block/vd*/serial | cut -d/ -f4)`
    const read = `dd if=${device} bs=1 count=${MARKER.length} 2>/dev/null; echo`
    const write = `printf ${MARKER} | dd of=${device} conv=fsync 2>/dev/null; echo wri''tten`
    await withKeys(here, [data], () =>
      here.volumes!.create({ store, id: data.id, bytes: 8 * MIB, encryption }, signal()),
    )
    await withKeys(here, [data], () => here.spawn(spec, signal()))
    expect(await printed(here, spec, write)).toBe('written')

    const rebuilt = { keepsEphemeral: false, runs: true }
    await expect(here.rebuild!.rebuild(spec, rebuilt, signal())).rejects.toThrow()
    await withKeys(here, [data], () => here.rebuild!.rebuild(spec, rebuilt, signal()))
    expect(await printed(here, spec, read)).toBe(MARKER)

    const rescue = { image, graceMs: 0, adminPassword: null }
    await withKeys(here, [data], () => here.rescue!.rescue(spec.id, rescue, signal()))
    expect(await printed(here, spec, read)).toBe(MARKER)
    await withKeys(here, [data], () => here.rescue!.unrescue(spec.id, signal()))
    expect(await printed(here, spec, read)).toBe(MARKER)

    const larger = { ...spec, flavor: { ...spec.flavor, id: 'larger', ramMb: 192 } }
    const resized = { runs: true, graceMs: 0 }
    await withKeys(here, [data], () => here.resize!.resize(larger, resized, signal()))
    expect(await printed(here, larger, read)).toBe(MARKER)

    if (!hosts.fences) await one.cutOff!(spec.id)
    await one.host.stopDaemon()
    const elsewhere = { ...larger, image: await imageOn(two) }
    await withKeys(there, [data], () => there.move!.evacuate(elsewhere, { runs: true }, signal()))
    expect(await printed(there, elsewhere, read)).toBe(MARKER)
    await expectSealed(data.id)
    await one.host.restartDaemon()
    const ended = () => here.destroy(spec.id, signal()).then(() => 'gone', String)
    await expect.poll(ended, { timeout: 60_000 }).toBe('gone')
    await there.destroy(spec.id, signal())
    await there.volumes!.destroy({ store, id: data.id }, signal())
  }, 900_000)
}
