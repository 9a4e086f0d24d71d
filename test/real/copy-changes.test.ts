import { execFile } from 'node:child_process'
import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { copyChanges } from '#drivers/copy-changes.ts'
import { bitmapsOf, removeBitmap } from '#drivers/qemu-img.ts'
import { whyNoGuests } from './requirements.ts'

// Goal: of a disk what a bitmap names is copied, all of it and nothing else, and nothing goes on when it ends.

const BITMAP = 'noted'
const why = whyNoGuests(['qemu-img', 'qemu-io', 'qemu-storage-daemon', 'pgrep'])
const run = async (command: string, ...args: readonly string[]) =>
  (await promisify(execFile)(command, args)).stdout

describe.skipIf(why !== undefined)(
  `changes of a qcow2 disk${why === undefined ? '' : ` (skipped: ${why})`}`,
  () => {
    let folder: string
    let [disk, before, changes]: string[] = []
    const signal = () => AbortSignal.timeout(20_000)
    const write = (path: string, what: string) => run('qemu-io', '-f', 'qcow2', '-c', what, path)

    beforeEach(async () => {
      // QEMU's own options are separated by commas.
      folder = await mkdtemp(join(tmpdir(), 'weir-changes,x=y-'))
      const base = join(folder, 'base.qcow2')
      ;[disk, before, changes] = ['disk', 'before', 'changes'].map((name) => join(folder, name))
      await run('qemu-img', 'create', '-q', '-f', 'qcow2', base, '64M')
      await write(base, 'write -P 1 0 8M')
      await run('qemu-img', 'create', '-q', '-f', 'qcow2', '-b', base, '-F', 'qcow2', disk!)
      await write(disk!, 'write -P 2 4M 1M')
      await run('qemu-img', 'bitmap', '--add', '-f', 'qcow2', disk!, BITMAP)
      await run('qemu-img', 'convert', '-f', 'qcow2', '-O', 'qcow2', disk!, before!)
    })
    afterEach(() => rm(folder, { recursive: true, force: true }))

    const running = async () =>
      (await run('pgrep', '-f', `qemu-storage-daemon.*${folder}`).catch(() => '')).trim()

    test('they show the disk as it is on top of what it was', async () => {
      await write(disk!, 'write -P 3 1M 128k')
      await write(disk!, 'write -z 4M 64k')
      await write(disk!, 'write -P 4 40M 64k')

      await copyChanges(disk!, BITMAP, changes!, signal())

      await run('qemu-img', 'rebase', '-u', '-f', 'qcow2', '-b', before!, '-F', 'qcow2', changes!)
      expect(await run('qemu-img', 'compare', changes!, disk!)).toContain('identical')
      const map = await run('qemu-img', 'map', '--output=json', '-f', 'qcow2', changes!)
      const own = (JSON.parse(map) as { depth: number; length: number }[]).filter(
        ({ depth }) => depth === 0,
      )
      expect(own.reduce((sum, { length }) => sum + length, 0)).toBe(256 * 1024)
      expect(await running()).toBe('')
    })

    test('a disk that nobody has written has none, and one without the bitmap is refused', async () => {
      await copyChanges(disk!, BITMAP, changes!, signal())
      const map = await run('qemu-img', 'map', '--output=json', '-f', 'qcow2', changes!)
      expect(JSON.parse(map)).toEqual([expect.objectContaining({ data: false, length: 64 << 20 })])

      expect(await bitmapsOf(disk!, signal())).toEqual([{ name: BITMAP, isInUse: false }])
      await removeBitmap(disk!, BITMAP, signal())
      expect(await bitmapsOf(disk!, signal())).toEqual([])
      await expect(copyChanges(disk!, BITMAP, changes!, signal())).rejects.toMatchObject({
        kind: 'internal',
        detail: expect.stringContaining(BITMAP),
      })
      expect(await running()).toBe('')
    })

    test('a copy that is called off has ended when its caller hears of it', async () => {
      await write(disk!, 'write -P 5 0 64M')
      const late = new AbortController()
      const copying = copyChanges(disk!, BITMAP, changes!, late.signal)
      await expect.poll(running, { interval: 1 }).not.toBe('')
      late.abort(new Error('called off'))
      await expect(copying).rejects.toThrow('called off')
      expect(await running()).toBe('')
    })
  },
)
