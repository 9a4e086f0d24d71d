import { readFile } from 'node:fs/promises'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { type AttachmentId, newId, type VolumeId } from '#common/ids.ts'
import { buildGuestImage } from '#deploy/guest/build-guest-image.ts'
import type { Driver } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { driverVolumeMovesContract } from '../contract/driver-volume-moves.contract.ts'
import { printed, startHosts } from './libvirt-pool-hosts.ts'
import { whyNoGuests } from './requirements.ts'

const COMMANDS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-io', 'genisoimage', 'syslinux']
const GUEST_CACHE = join(import.meta.dirname, '../../.weir/cache')
const BOOT_MS = 180_000
const MIB = 1024 ** 2
const why = whyNoGuests(COMMANDS)

describe.skipIf(why !== undefined)(
  `guests with volumes on libvirt hosts${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    driverVolumeMovesContract('libvirt', startHosts)

    test.skipIf(!isFullRun)(
      'what a guest writes to its volume while it goes over is there, block for block',
      async () => {
        await using world = await startHosts()
        const { here, there, one, pool } = world
        const signal = () => AbortSignal.timeout(BOOT_MS)
        const built = await buildGuestImage(GUEST_CACHE)
        const image = one.images.addFile(built.path, {
          ...built,
          diskFormat: 'qcow2',
          name: 'tiny',
        })
        const store = (await here.volumes!.stores(signal()))[0]!.id
        const id = newId<VolumeId>()
        await here.volumes!.create({ store, id, bytes: 4 * MIB }, signal())
        const how = { attachmentId: newId<AttachmentId>(), isReadOnly: false, isShared: false }
        const spec = { ...instanceSpec(image), volumes: [{ store, id, ...how }] }
        await here.spawn(spec, signal())
        const write = 'echo $i | dd of=/dev/vdb seek=$i bs=512 conv=sync,fsync 2>/dev/null'
        const loop = `i=0; while :; do i=$((i+1)); ${write}; echo $i > /tmp/n; done`
        await printed(
          here,
          spec,
          `if mkdir /tmp/begun; then { ${loop}; } > /dev/null 2>&1 & fi; echo begun`,
        )
        const written = async (on: Driver) => Number(await printed(on, spec, 'cat /tmp/n'))
        await expect.poll(() => written(here), { timeout: BOOT_MS }).toBeGreaterThan(5)

        const announced = await here.liveMove!.announce(spec.id, signal())
        const expected = await there.liveMove!.expect(spec, announced, signal())
        await here.liveMove!.send(spec.id, expected, signal())
        await there.liveMove!.finish(spec, true, signal())
        const before = await written(there)
        await expect.poll(() => written(there), { timeout: BOOT_MS }).toBeGreaterThan(before)
        const count = await written(there)
        await there.destroy(spec.id, signal())

        const content = await readFile(join(pool, `weir-${one.owner.cellId}-${id}`), 'latin1')
        const blocks = Array.from({ length: count }, (_, nth) => {
          const block = content.slice((nth + 1) * 512, (nth + 2) * 512)
          return Number(block.slice(0, block.indexOf('\n')))
        })
        expect(blocks).toEqual(Array.from({ length: count }, (_, nth) => nth + 1))
        await here.destroy(spec.id, signal())
        await here.volumes!.destroy({ store, id }, signal())
      },
      600_000,
    )
  },
)
