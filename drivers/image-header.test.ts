import { mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { type ImageFormat, imageVirtualSize, ownDiskIsOverlay } from './image-header.ts'
import { qcow2Header } from './testing/qcow2-header.ts'

const GIB = 1024n ** 3n

describe('imageVirtualSize()', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-header-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))

  const sizeOf = async (content: Uint8Array, format: ImageFormat) => {
    const path = join(folder, 'image')
    await writeFile(path, content)
    return imageVirtualSize(path, format)
  }

  test('a qcow2 file is as large as its header says, a raw file as it is', async () => {
    expect(await sizeOf(qcow2Header({ virtualSize: 3n * GIB }), 'qcow2')).toBe(3 * 1024 ** 3)
    expect(await sizeOf(Buffer.alloc(700), 'raw')).toBe(700)
  })

  test('a disk is known as an overlay, which may still refer to no data file', async () => {
    const path = join(folder, 'disk')
    const isOverlay = async (header: Parameters<typeof qcow2Header>[0]) => {
      await writeFile(path, qcow2Header(header))
      return ownDiskIsOverlay(path)
    }
    expect(await isOverlay({ virtualSize: GIB })).toBe(false)
    expect(await isOverlay({ virtualSize: GIB, backingOffset: 512n })).toBe(true)
    const split = { virtualSize: GIB, backingOffset: 512n, incompatible: 4n }
    await expect(isOverlay(split)).rejects.toThrow('a data file')
  })

  test('dirty, compressed and extended-L2 qcow2 are taken', async () => {
    const header = qcow2Header({ virtualSize: GIB, incompatible: 0b11001n })
    expect(await sizeOf(header, 'qcow2')).toBe(Number(GIB))
  })

  test.each([
    ['a backing file', { virtualSize: GIB, backingOffset: 512n }, 'a backing file'],
    ['a data file', { virtualSize: GIB, incompatible: 4n }, 'a data file'],
    ['encryption', { virtualSize: GIB, encryption: 1 }, 'encrypted'],
    ['damage', { virtualSize: GIB, incompatible: 2n }, 'damaged'],
    ['an unknown feature', { virtualSize: GIB, incompatible: 1n << 40n }, 'does not know'],
    ['no size', { virtualSize: 0n }, 'size'],
    ['an absurd size', { virtualSize: 1n << 63n }, 'size'],
  ])('qcow2 with %s is refused', async (_what, options, message) => {
    const failure = { kind: 'invalid', message: expect.stringContaining(message) }
    await expect(sizeOf(qcow2Header(options), 'qcow2')).rejects.toMatchObject(failure)
  })

  test.each([
    ['qcow2', qcow2Header({ virtualSize: GIB })],
    ['vmdk', Buffer.from('KDMV\u0001\0\0\0')],
    ['vmdk', Buffer.from('# Disk DescriptorFile\nversion=1')],
    ['vhdx', Buffer.from('vhdxfile')],
    ['vhd', Buffer.from('conectix')],
    ['vdi', Buffer.concat([Buffer.alloc(0x40), Buffer.from([0x7f, 0x10, 0xda, 0xbe])])],
    ['qed', Buffer.from('QED\0')],
    ['luks', Buffer.from([0x4c, 0x55, 0x4b, 0x53, 0xba, 0xbe])],
  ])('a %s file declared raw is refused', async (format, content) => {
    const failure = { kind: 'invalid', message: expect.stringContaining(format) }
    await expect(sizeOf(content, 'raw')).rejects.toMatchObject(failure)
  })

  test.each([Buffer.alloc(0), Buffer.from('QFI'), Buffer.alloc(512)])(
    'something short or empty declared qcow2 is refused',
    async (content) => {
      await expect(sizeOf(content, 'qcow2')).rejects.toMatchObject({ kind: 'invalid' })
    },
  )
})
