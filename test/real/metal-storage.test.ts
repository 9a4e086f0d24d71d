import { mkdtempDisposable, readdir, readFile, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { describe, expect, test } from 'vitest'
import { run } from '#drivers/run.ts'
import { isFullRun } from '../env/full-run.ts'
import { startMetal } from '../env/metal.ts'
import { whyNoGuests } from './requirements.ts'

const why = isFullRun ? whyNoGuests(['mount', 'umount', 'qemu-img']) : 'only with --all'
const skipped = why === undefined ? '' : ` (skipped: ${why})`
const MIB = 1024 ** 2
const STEP_MS = 30_000

describe.skipIf(why !== undefined)(`the disk of a host of machines${skipped}`, () => {
  test('refuses images while it has no room, or is read-only, and no machine is taken', async () => {
    await using metal = await startMetal()
    const images = join(metal.directory, 'images')
    const size = ['-t', 'tmpfs', '-o', 'size=2m', 'weir-test', images]
    await run('mount', size, { timeoutMs: STEP_MS })
    try {
      const signal = AbortSignal.timeout(3 * STEP_MS)
      const room = { kind: 'no-capacity', message: /no room left/ }
      const large = metal.spec(metal.images.add(Buffer.alloc(3 * MIB, 1)))
      await expect(metal.driver.spawn(large, signal)).rejects.toMatchObject(room)

      // It has room for the image, and none for the disk that it shows.
      const packed = metal.images.add(await compressed(), { diskFormat: 'qcow2' })
      await expect(metal.driver.spawn(metal.spec(packed), signal)).rejects.toMatchObject(room)

      await run('mount', ['-o', 'remount,ro', images], { timeoutMs: STEP_MS })
      const tiny = metal.spec(metal.images.add(Buffer.alloc(512)))
      await expect(metal.driver.spawn(tiny, signal)).rejects.toMatchObject({
        kind: 'internal',
        message: /may not write/,
      })
      expect((await readdir(images)).filter((name) => name.includes('part'))).toEqual([])
    } finally {
      await run('umount', [images], { timeoutMs: STEP_MS })
    }

    expect(metal.machine.tasks).toEqual(['inspect', 'clean'])
    expect(await metal.node()).toMatchObject({ state: 'available', instance: null })
  }, 120_000)
})

/** A qcow2 image of a few KiB that shows a disk of 16 MiB. */
async function compressed(): Promise<Buffer> {
  await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-packed-'))
  const [raw, qcow2] = [join(folder.path, 'raw'), join(folder.path, 'qcow2')]
  await writeFile(raw, Buffer.alloc(16 * MIB, 7))
  const args = ['convert', '-c', '-f', 'raw', '-O', 'qcow2', raw, qcow2]
  await run('qemu-img', args, { timeoutMs: STEP_MS })
  return readFile(qcow2)
}
