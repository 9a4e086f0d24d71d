import { describe, expect, test } from 'vitest'
import { mergeChanges } from './merge-changes.ts'
import { bytesOf, CLUSTER_BYTES, contentOf, firstBytesOf, qcow2Of } from './testing.ts'

// Goal: a disk with its changes is the disk as it was then, and what cannot be merged exactly is refused.

const before = { 0: 1, 1: 2, 2: 'zero', 3: 4 } as const

async function merged(old: Buffer, changes: Buffer): Promise<Buffer> {
  const disk = await mergeChanges(bytesOf(old), bytesOf(changes))
  const content = await contentOf(disk.stream())
  expect(content).toHaveLength(disk.sizeBytes)
  return content
}

/** As many of its clusters as are referred to once, of all that it has. */
function countedClusters(file: Buffer): readonly [number, number] {
  const block = 2 * CLUSTER_BYTES
  const all = file.length / CLUSTER_BYTES
  const counted = Array.from({ length: all }, (_, nth) => file.readUInt16BE(block + 2 * nth))
  return [counted.filter((count) => count === 1).length, all]
}

test('each cluster is as the changes have it, or as it was before', async () => {
  const changes = { 1: 9, 2: 8, 3: 'zero', 10: 7, 11: 'zero', 63: 6 } as const
  const content = await merged(qcow2Of(before), qcow2Of(changes))

  const bytes = firstBytesOf(content)
  expect(bytes.slice(0, 5)).toEqual([1, 9, 8, 0, 0])
  expect([bytes[10], bytes[11], bytes[63]]).toEqual([7, 0, 6])
  const [counted, all] = countedClusters(content)
  expect(counted).toBe(all)
  // What was overwritten with zeros is nowhere in the file.
  expect(content.includes(Buffer.alloc(64, 4))).toBe(false)
})

test('a disk without changes stays as it is, and the same files give the same bytes', async () => {
  const old = qcow2Of(before)
  expect((await merged(old, qcow2Of({}))).equals(old)).toBe(true)
  const changes = qcow2Of({ 1: 9, 20: 3 })
  expect((await merged(old, changes)).equals(await merged(old, changes))).toBe(true)
})

test('changes of changes of a disk are the disk', async () => {
  let content = qcow2Of(before)
  for (const changes of [{ 5: 5 }, { 5: 'zero', 6: 6 }, { 6: 7, 0: 3 }] as const)
    content = await merged(content, qcow2Of(changes))
  expect(firstBytesOf(content).slice(0, 7)).toEqual([3, 2, 0, 4, 0, 0, 7])
})

describe('what is refused', () => {
  const with32 = (at: number, value: number) => {
    const file = qcow2Of(before)
    file.writeUInt32BE(value, at)
    return file
  }
  const with64 = (at: number, value: bigint) => {
    const file = qcow2Of(before)
    file.writeBigUInt64BE(value, at)
    return file
  }
  const firstEntry = 4 * CLUSTER_BYTES
  test.each([
    ['no qcow2', with32(0, 7)],
    ['of version 2', with32(4, 2)],
    ['with a backing file', with64(8, 200n)],
    ['with small clusters', with32(20, 9)],
    ['of another size', qcow2Of(before, 65)],
    ['encrypted', with32(32, 2)],
    ['with a table that is too short', with32(36, 0)],
    ['with a table that is too long', with32(36, 2 ** 30)],
    ['with tables in a wrong place', with64(40, 7n)],
    ['with tables behind its end', with64(40, 2n ** 40n)],
    ['with internal snapshots', with32(60, 1)],
    ['with unknown features', with64(72, 2n)],
    ['with bitmaps', with64(88, 1n)],
    ['with other references', with32(96, 5)],
    ['compressed', with64(firstEntry, 1n << 62n)],
    ['with data that is shared', with64(firstEntry, BigInt(5 * CLUSTER_BYTES))],
    ['cut short', qcow2Of(before).subarray(0, 4 * CLUSTER_BYTES)],
    ['empty', Buffer.alloc(0)],
  ])('an image %s', async (_, file) => {
    const fine = qcow2Of({ 0: 9 })
    const invalid = { kind: 'invalid', message: expect.stringContaining('cannot be applied') }
    await expect(mergeChanges(bytesOf(file), bytesOf(fine))).rejects.toMatchObject(invalid)
    await expect(mergeChanges(bytesOf(qcow2Of(before)), bytesOf(file))).rejects.toMatchObject(
      invalid,
    )
  })

  test('an image that counts data behind its end', async () => {
    const file = qcow2Of(before)
    file.writeUInt16BE(1, 2 * CLUSTER_BYTES + 2 * (file.length / CLUSTER_BYTES))
    const merging = mergeChanges(bytesOf(file), bytesOf(qcow2Of({ 40: 1 })))
    await expect(merging).rejects.toMatchObject({ kind: 'invalid' })
  })
})
