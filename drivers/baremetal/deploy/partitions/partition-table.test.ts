import { execFile } from 'node:child_process'
import { mkdtempDisposable, open, truncate, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { describe, expect, test } from 'vitest'
import { programPath } from '#deploy/process/find-program.ts'
import { run } from '../../../run.ts'
import { partitionTable } from './partition-table.ts'

const MIB = 1024 ** 2
const IMAGE_MB = 64
const DISK_MB = 4096
const DRIVE_SECTORS = 2_048
const SFDISK = '/sbin/sfdisk'
const start = promisify(execFile)

interface Table {
  readonly partitiontable: {
    readonly lastlba?: number
    readonly partitions: readonly { start: number; size: number; type: string; name?: string }[]
  }
}

/** What util-linux, which knows nothing of our code, makes and reads. */
async function partition(path: string, script: string): Promise<void> {
  const child = start(SFDISK, ['-q', path])
  child.child.stdin!.end(script)
  await child
}

async function read(path: string): Promise<Table['partitiontable']> {
  const { stdout } = await run(SFDISK, ['--json', path], { timeoutMs: 10_000 })
  return (JSON.parse(stdout) as Table).partitiontable
}

describe.skipIf(programPath('sfdisk') === undefined)('a partition table', () => {
  test.each([
    ['dos', '2048,65536,83,*\n', '83'],
    ['gpt', '2048,65536\n,,U\n', '0FC63DAF-8483-4772-8E79-3D69D8477DE4'],
  ])(
    'of kind %s gets one more partition at the end of a larger disk',
    async (label, parts, type) => {
      await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-parts-'))
      const disk = join(folder.path, 'disk')
      await writeFile(disk, '')
      await truncate(disk, IMAGE_MB * MIB)
      await partition(disk, `label: ${label}\n${parts}`)
      const before = await read(disk)
      const table = await partitionTable(disk)

      const { offsetBytes, patches } = table.add((DISK_MB * MIB) / 512, DRIVE_SECTORS)
      await truncate(disk, DISK_MB * MIB)
      {
        await using file = await open(disk, 'r+')
        for (const patch of patches)
          await file.write(patch.content, 0, patch.content.length, patch.offsetBytes)
      }

      const after = await read(disk)
      expect(after.partitions.slice(0, -1)).toEqual(before.partitions)
      const added = after.partitions.at(-1)!
      expect(added).toMatchObject({ start: offsetBytes / 512, size: DRIVE_SECTORS, type })
      expect(added.start).toBeGreaterThan((DISK_MB * MIB) / 512 - 3 * DRIVE_SECTORS)
      const { stdout } = await run(SFDISK, ['--verify', disk], { timeoutMs: 10_000 })
      expect(stdout).toContain('No errors detected')
    },
  )

  test('is refused where there is none, it is full, or the disk has no room', async () => {
    await using folder = await mkdtempDisposable(join(tmpdir(), 'weir-parts-'))
    const disk = join(folder.path, 'disk')
    await writeFile(disk, Buffer.alloc(4096, 'a file system'))
    await expect(partitionTable(disk)).rejects.toMatchObject({ kind: 'invalid' })

    await truncate(disk, IMAGE_MB * MIB)
    await partition(disk, 'label: dos\n2048,2048\n4096,2048\n6144,2048\n8192,2048\n')
    const full = await partitionTable(disk)
    expect(() => full.add(2 ** 20, DRIVE_SECTORS)).toThrow(/no place for a config drive/)

    await partition(disk, 'label: gpt\n2048,120000\n')
    const whole = await partitionTable(disk)
    expect(() => whole.add((IMAGE_MB * MIB) / 512, 16_384)).toThrow(/no room on the disk/)
  })
})
