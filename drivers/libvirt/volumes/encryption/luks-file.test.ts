import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { headerBytes, readLuksHeader } from './luks-file.ts'

let folder: string
let path: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-luks-'))
  path = join(folder, 'file')
})
afterEach(() => rm(folder, { recursive: true, force: true }))

/** As QEMU writes it, with a payload at this sector. */
function header(sector: number, keyBytes: number): Buffer {
  const bytes = Buffer.alloc(592)
  bytes.write('LUKS\xba\xbe', 'latin1')
  bytes.writeUInt16BE(1, 6)
  bytes.writeUInt32BE(sector, 104)
  bytes.writeUInt32BE(keyBytes, 108)
  return bytes
}

test.each([
  [64, 256],
  [32, 128],
])('a header with keys of %i bytes in XTS is that of AES-%i', async (keyBytes, keyBits) => {
  await writeFile(path, header(4_040, keyBytes))

  expect(await readLuksHeader(path)).toEqual({ offset: 4_040 * 512, keyBits })
})

test.each([
  [128, 2_056],
  [256, 4_040],
] as const)(
  'the content behind a header for AES-%i begins at sector %i, as QEMU writes it',
  (keyBits, sector) => {
    expect(headerBytes(keyBits)).toBe(sector * 512)
  },
)

test.each([
  ['another version', header(4_040, 64).fill(2, 7, 8)],
  ['another key', header(4_040, 16)],
  ['zeros', Buffer.alloc(4_096)],
  ['nothing', Buffer.alloc(0)],
])('a file with %s is none of ours', async (_, bytes) => {
  await writeFile(path, bytes)

  await expect(readLuksHeader(path)).rejects.toMatchObject({ kind: 'internal' })
})
