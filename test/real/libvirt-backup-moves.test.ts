import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { newId } from '#common/ids.ts'
import { diskFile } from '#common/qcow2/disk-file.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import type { Driver, InstanceSpec } from '#drivers/driver.ts'
import { instanceSpec } from '#drivers/testing/instance-spec.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { guestWrites } from './disk-content.ts'
import { startLibvirtHarness } from './libvirt-harness.ts'
import { linkHosts } from './linked-hosts.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: a guest with incremental backups moves to another host while it runs, and its next backup is complete.

const PROGRAMS = ['libvirtd', 'virsh', 'qemu-system-x86_64', 'qemu-img']
const TEST_MS = 600_000
const why = isFullRun ? whyNoGuests(PROGRAMS) : 'with --all only'
const qemuImg = async (...args: readonly string[]) =>
  (await promisify(execFile)('qemu-img', args)).stdout

describe.skipIf(why !== undefined)(
  `a guest with backups on another host${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    const signal = () => AbortSignal.timeout(120_000)

    async function backUp(
      driver: Driver,
      { id }: InstanceSpec,
      path: string,
      since: string | null,
    ) {
      const name = newId<string>()
      const { disk, isWhole } = await driver.backupChanges!.take(id, { name, since }, signal())
      await pipeline(disk.content(), createWriteStream(path))
      await disk[Symbol.asyncDispose]()
      await driver.backupChanges!.keep(id, name, signal())
      return { name, isWhole }
    }

    test(
      'it goes over while it runs, and is saved there as it is then',
      async () => {
        await using one = await startLibvirtHarness('leaving')
        await using two = await startLibvirtHarness('coming')
        const [near, far] = await linkHosts(one.host, two.host)
        await using here = await one.openAs(one.owner, { liveUri: `qemu+tcp://${near}/system` })
        await using there = await two.openAs(two.owner, { liveUri: `qemu+tcp://${far}/system` })
        const spec = instanceSpec(one.image)
        await expect.poll(() => here.list(signal()).catch(() => null)).toEqual([])
        await here.spawn(spec, signal())
        const file = (name: string) => join(two.directory, name)
        const first = await backUp(here, spec, file('first'), null)
        const write = async (host: typeof one.host, pattern: number, where: string) =>
          expect(await guestWrites(host, spec.id, { pattern, where })).toBe(true)
        await write(one.host, 0x31, '100M 1M')

        const announced = await here.liveMove!.announce(spec.id, signal())
        const expected = await there.liveMove!.expect(spec, announced, signal())
        await here.liveMove!.send(spec.id, expected, signal())
        await there.liveMove!.finish(spec, true, signal())
        await here.destroy(spec.id, signal())
        await write(two.host, 0x32, '200M 1M')
        const second = await backUp(there, spec, file('second'), first.name)
        await write(two.host, 0x33, '300M 1M')
        const third = await backUp(there, spec, file('third'), second.name)
        await there.stop(spec.id, 0, signal())

        expect(third.isWhole).toBe(false)
        let image = 'second'
        if (!second.isWhole) image = await merged('first', 'second')
        image = await merged(image, 'third')
        const state = `state-${two.owner.cellId}`
        const disk = join(two.directory, state, 'instances', spec.id, 'root.qcow2')
        expect(await qemuImg('compare', file(image), disk)).toContain('Images are identical')
        await there.destroy(spec.id, signal())
        for (const harness of [one, two]) expect(await harness.leftovers(spec.id)).toEqual([])

        /** The name of the file with both. */
        async function merged(before: string, changes: string): Promise<string> {
          const both = await mergeChanges(
            await diskFile(file(before)),
            await diskFile(file(changes)),
          )
          const name = `${before}-${changes}`
          await pipeline(both.stream(), createWriteStream(file(name)))
          return name
        }
      },
      TEST_MS,
    )
  },
)
