import { execFile } from 'node:child_process'
import { createWriteStream } from 'node:fs'
import { copyFile, mkdtemp, rm, stat } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { diskFile } from '#common/qcow2/disk-file.ts'
import { mergeChanges } from '#common/qcow2/merge-changes.ts'
import { copyChanges } from '#drivers/copy-changes.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: QEMU finds on a disk that was merged with its changes what it had written, and nothing wrong with its tables.

const BITMAP = 'noted'
const ROUNDS = 4
const why = whyNoGuests(['qemu-img', 'qemu-io', 'qemu-storage-daemon'])
const run = async (command: string, ...args: readonly string[]) =>
  (await promisify(execFile)(command, args)).stdout

/** As a generator of Park and Miller: the same numbers for the same seed. */
function numbers(seed: number): (below: number) => number {
  let state = seed
  return (below) => {
    state = (state * 48_271) % 2_147_483_647
    return state % below
  }
}

describe.skipIf(why !== undefined)(
  `a qcow2 disk with its changes${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let folder: string
    const at = (name: string) => join(folder, name)
    beforeEach(async () => {
      folder = await mkdtemp(join(tmpdir(), 'weir-merge-'))
    })
    afterEach(() => rm(folder, { recursive: true, force: true }))

    // One that ends within a cluster, and one that needs more than a block of references and a table.
    test.each([
      ['100001K', 1],
      ['3G', 2],
    ])(
      'of %s is what was written, over several rounds',
      async (size, seed) => {
        const below = numbers(seed)
        const disk = at('disk')
        const scale = size === '3G' ? 30 : 1
        const write = async (count: number) => {
          const commands = Array.from({ length: count }, () => {
            const where = `${below(95_000) * scale}K ${below(700) + 1}K`
            const what = [`write -P ${below(255) + 1}`, 'write -z', 'discard'][below(3)]
            return ['-c', `${what} ${where}`]
          })
          await run('qemu-io', '-f', 'qcow2', ...commands.flat(), disk)
        }
        await run('qemu-img', 'create', '-q', '-f', 'qcow2', disk, size)
        await write(40)
        if (size === '3G') await run('qemu-io', '-f', 'qcow2', '-c', 'write -P 7 0 80M', disk)
        let before = at('before-0')
        await run('qemu-img', 'convert', '-f', 'qcow2', '-O', 'qcow2', disk, before)
        for (let round = 1; round <= ROUNDS; round += 1) {
          await run('qemu-img', 'bitmap', '--add', '-f', 'qcow2', disk, BITMAP)
          await write(20)
          await copyChanges(disk, BITMAP, at('changes'), AbortSignal.timeout(60_000))
          await run('qemu-img', 'bitmap', '--remove', '-f', 'qcow2', disk, BITMAP)

          const merged = await mergeChanges(await diskFile(before), await diskFile(at('changes')))
          const after = at(`before-${round}`)
          await pipeline(merged.stream(), createWriteStream(after))

          expect((await stat(after)).size).toBe(merged.sizeBytes)
          await expect(run('qemu-img', 'compare', before, disk)).rejects.toMatchObject({ code: 1 })
          expect(await run('qemu-img', 'compare', after, disk)).toContain('Images are identical')
          expect(await run('qemu-img', 'check', '-f', 'qcow2', after)).toContain('No errors')
          before = after
        }
        // It is a disk like any other.
        await copyFile(before, disk)
        await run('qemu-io', '-f', 'qcow2', '-c', 'write -P 9 0 50M', disk)
        expect(await run('qemu-img', 'check', '-f', 'qcow2', disk)).toContain('No errors')
      },
      120_000,
    )
  },
)
