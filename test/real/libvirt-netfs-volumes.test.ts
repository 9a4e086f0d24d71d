import { readdir } from 'node:fs/promises'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import type { Failure } from '#common/errors.ts'
import { type AttachmentId, newId, type VolumeId, type VolumeSnapshotId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { IDENTITY_FILE } from '#drivers/store-identity.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import type { VolumeRef } from '#drivers/volumes.ts'
import { driverVolumeMovesContract } from '../contract/driver-volume-moves.contract.ts'
import { driverVolumesContract } from '../contract/driver-volumes.contract.ts'
import { bytesOf } from '../contract/volumes-world.ts'
import { isFullRun } from '../env/full-run.ts'
import { isGlusterHere } from '../env/gluster/programs.ts'
import { folderContent } from './libvirt-folder-content.ts'
import { type NetfsHosts, startNetfsHosts, startNetfsWorld } from './libvirt-netfs-harness.ts'
import { printed } from './libvirt-pool-hosts.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a pool of type netfs, which libvirt mounts on each host, is one store: of what a host changes, another one sees
// nothing old, and no other guest gets the volume of one.

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const MIB = 1024 ** 2
const why = isFullRun && isGlusterHere() ? whyNoGuests(COMMANDS) : 'not asked for, or no GlusterFS'

const signal = () => AbortSignal.timeout(180_000)
const poll = { timeout: 60_000, interval: 500 }

describe.skipIf(why !== undefined)(
  `volumes of libvirt hosts in GlusterFS${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumesContract('libvirt (netfs)', startNetfsWorld)
    driverVolumeMovesContract('libvirt (netfs)', startNetfsHosts)

    describe('two hosts', () => {
      let hosts: NetfsHosts
      let store: string
      const storesOf = (driver: Driver) => driver.volumes!.stores(signal())
      const newVolume = async (): Promise<VolumeRef> => {
        const volume = { store, id: newId<VolumeId>() }
        await hosts.here.volumes!.create({ ...volume, bytes: 4 * MIB }, signal())
        return volume
      }
      const alone = (volume: VolumeRef) => {
        const attachmentId = newId<AttachmentId>()
        return { ...volume, attachmentId, isReadOnly: false, isShared: false }
      }

      beforeAll(async () => {
        hosts = await startNetfsHosts()
        store = (await storesOf(hosts.here))[0]!.id
      }, 180_000)
      afterAll(() => hosts?.[Symbol.asyncDispose]())

      test('report the same store, whose identity is in the file system', async () => {
        const { here, there, gluster } = hosts
        for (const each of [here, there])
          expect(await storesOf(each)).toMatchObject([
            { id: store, name: 'volumes', isShared: true, multiattach: true },
          ])
        expect(await gluster.files()).toContain(IDENTITY_FILE)
      })

      test('mount it again after their daemon has unmounted it or was restarted', async () => {
        const { there, two } = hosts
        await two.virsh('pool-destroy', 'volumes')
        expect(await storesOf(there)).toMatchObject([{ id: store }])
        await two.host.restartDaemon()
        await expect.poll(() => storesOf(there), poll).toMatchObject([{ id: store }])
      }, 120_000)

      test('do not take the folder in which nothing is mounted for a store', async () => {
        const { two, poolOfTwo } = hosts
        await using fresh = await two.openAs(two.owner, { volumePools: ['volumes'] })
        await two.host.run('umount', [poolOfTwo], { timeoutMs: 20_000 })

        expect(await storesOf(fresh)).toEqual([])
        expect(await readdir(poolOfTwo)).toEqual([])

        await two.virsh('pool-destroy', 'volumes')
        await expect.poll(() => storesOf(fresh), poll).toMatchObject([{ id: store }])
        expect(await readdir(poolOfTwo)).toContain(IDENTITY_FILE)
      }, 120_000)

      test('see at once what the other one has changed', async () => {
        const { here, there, pool, one } = hosts
        const { content } = folderContent(pool, one.owner)
        const volume = await newVolume()
        const snapshot = newId<VolumeSnapshotId>()
        const startThere = async () => {
          await using disk = await there.volumes!.export(volume, 'raw', signal())
          return (await bytesOf(disk)).toString('latin1', 0, 4)
        }
        const bytesThere = async () =>
          (await there.volumes!.list(store, signal())).map(({ bytes }) => bytes)
        await content.write(volume, 'old ')
        await here.volumes!.snapshot(volume, snapshot, signal())

        await content.write(volume, 'new ')
        expect(await startThere()).toBe('new ')
        await here.volumes!.revert(volume, snapshot, signal())
        expect(await startThere()).toBe('old ')
        expect(await bytesThere()).toEqual([4 * MIB])
        await here.volumes!.extend(volume, 8 * MIB, signal())
        expect(await bytesThere()).toEqual([8 * MIB])
        await here.volumes!.destroySnapshot(volume, snapshot, signal())
        await here.volumes!.destroy(volume, signal())
        expect(await bytesThere()).toEqual([])
      }, 180_000)

      test('carry a guest with its volume, and no second guest gets it', async () => {
        const { here, there, one, image } = hosts
        const built = await buildGuestImage(GUEST_CACHE)
        const tiny = one.images.addFile(built.path, { ...built, diskFormat: 'qcow2', name: 'tiny' })
        const volume = await newVolume()
        const spec = { ...instanceSpec(tiny), volumes: [alone(volume)] }
        const refused = { kind: 'conflict', message: expect.stringContaining(volume.id) }
        const expectRefused = async () => {
          const second = { ...instanceSpec(image), volumes: [alone(volume)] }
          await expect(here.spawn(second, signal())).rejects.toMatchObject(refused)
          await here.destroy(second.id, signal())
          for (const each of [here, there])
            await expect(each.volumes!.destroy(volume, signal())).rejects.toMatchObject(refused)
        }
        await here.spawn(spec, signal())
        const write = "printf 'from-the-first\\n' >/tmp/x; dd if=/tmp/x of=/dev/vdb bs=4096"
        await printed(here, spec, `${write} conv=sync,notrunc,fsync 2>/dev/null; echo done`)
        await expectRefused()

        const announced = await here.liveMove!.announce(spec.id, signal())
        const expected = await there.liveMove!.expect(spec, announced, signal())
        await here.liveMove!.send(spec.id, expected, signal())
        await there.liveMove!.finish(spec, true, signal())
        await here.destroy(spec.id, signal())

        const read = 'echo 3 >/proc/sys/vm/drop_caches; head -n 1 /dev/vdb'
        expect(await printed(there, spec, read)).toBe('from-the-first')
        await expectRefused()
        await there.destroy(spec.id, signal())
        await here.volumes!.destroy(volume, signal())
      }, 600_000)

      /** Writes this byte to the volume as its guest does, which has no operating system. */
      const writeAs = async (spec: InstanceSpec, byte: number) => {
        const [volume] = spec.volumes!
        const disk = `/machine/peripheral/ua-vol-${volume!.attachmentId}/virtio-backend`
        const command = `qemu-io -d ${disk} "write -f -P ${byte} 0 4k"`
        await hosts.one.virsh('qemu-monitor-command', `weir-${spec.id}`, '--hmp', command)
      }
      /** The first byte of the volume as the second host reads it. */
      const firstByte = async (volume: VolumeRef) => {
        const { content } = folderContent(hosts.poolOfTwo, hosts.one.owner)
        return (await content.read(volume))[0]
      }

      test('lose what its guest writes after a host was cut off and another one has the volume', async () => {
        const { here, there, image, two, lineOfOne } = hosts
        const volume = await newVolume()
        const first = { ...instanceSpec(image), volumes: [alone(volume)] }
        const second = instanceSpec(two.image)
        await here.spawn(first, signal())
        await there.spawn(second, signal())
        await writeAs(first, 1)
        expect(await firstByte(volume)).toBe(1)

        await lineOfOne.cut()
        const wanted = alone(volume)
        const attached = () =>
          there.volumes!.attach(second.id, wanted, signal()).catch((error: Failure) => error.kind)
        expect(await attached()).toBe('conflict')
        await expect.poll(attached, { timeout: 120_000, interval: 2_000 }).toMatch(/^.dev/)
        await lineOfOne.mend()
        await expect.poll(() => storesOf(here), poll).toMatchObject([{ id: store }])
        await writeAs(first, 2)

        expect(await firstByte(volume)).toBe(1)
        await here.destroy(first.id, signal())
        await there.destroy(second.id, signal())
        await here.volumes!.destroy(volume, signal())
      }, 300_000)

      test('leave the store out while its server is away, and have it again, guests once they start again', async () => {
        const { here, there, image, gluster, one } = hosts
        const volume = await newVolume()
        const spec = { ...instanceSpec(image), volumes: [alone(volume)] }
        await here.spawn(spec, signal())
        await writeAs(spec, 1)

        await gluster.killBrick()
        for (const each of [here, there]) await expect.poll(() => storesOf(each), poll).toEqual([])
        await gluster.startBrick()
        for (const each of [here, there])
          await expect.poll(() => storesOf(each), poll).toMatchObject([{ id: store }])

        // Its lock is lost, and it does not write without.
        await writeAs(spec, 2)
        expect(await firstByte(volume)).toBe(1)
        await here.reboot(spec.id, 'hard', 0, signal())
        const log = [`/var/log/libvirt/qemu/weir-${spec.id}.log`]
        const { stdout } = await one.host.run('cat', log, { timeoutMs: 20_000 })
        expect(stdout).toContain('write failed')
        await writeAs(spec, 3)
        expect(await firstByte(volume)).toBe(3)
        await here.destroy(spec.id, signal())
        await here.volumes!.destroy(volume, signal())
      }, 300_000)
    })
  },
)
