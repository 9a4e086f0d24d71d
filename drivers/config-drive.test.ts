import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { writeConfigDrive } from './config-drive.ts'

describe('writeConfigDrive()', () => {
  let folder: string
  beforeAll(async () => {
    folder = await mkdtemp(join(tmpdir(), 'weir-iso-'))
  })
  afterAll(() => rm(folder, { recursive: true, force: true }))
  const write = (files: Record<string, Uint8Array>) =>
    writeConfigDrive(join(folder, 'config.iso'), files, AbortSignal.timeout(10_000))

  test.each(['../evil', '/etc/passwd', 'a/../../evil', '', 'a//b', 'a/', './a', 'a\0b'])(
    'a file named %j is refused',
    async (name) => {
      await expect(write({ [name]: Buffer.from('x') })).rejects.toMatchObject({ kind: 'invalid' })
    },
  )

  test('too many files or bytes are refused', async () => {
    const many = Object.fromEntries(
      Array.from({ length: 201 }, (_, i) => [`f${i}`, Buffer.alloc(1)]),
    )

    await expect(write(many)).rejects.toMatchObject({ kind: 'invalid' })
    await expect(write({ big: Buffer.alloc(65 * 1024 ** 2) })).rejects.toMatchObject({
      kind: 'invalid',
    })
  })
})
