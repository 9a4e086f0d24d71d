import { mkdtemp, readdir, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { isUuid } from '#common/ids.ts'
import { IDENTITY_FILE, storeIdentity } from './store-identity.ts'

let folder: string
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), 'weir-store-'))
})
afterEach(() => rm(folder, { recursive: true, force: true }))

test('hosts that find a folder without an identity at once agree on one, which stays', async () => {
  const found = await Promise.all(Array.from({ length: 20 }, () => storeIdentity(folder)))

  expect(new Set(found).size).toBe(1)
  expect(isUuid(found[0]!)).toBe(true)
  expect(await storeIdentity(folder)).toBe(found[0])
  expect(await readdir(folder)).toEqual([IDENTITY_FILE])
})

test('a file that holds no identity is an error, and stays', async () => {
  await writeFile(join(folder, IDENTITY_FILE), 'mine')

  await expect(storeIdentity(folder)).rejects.toThrow(IDENTITY_FILE)
})

test('a folder that has lost its identity gets no other', async () => {
  const id = await storeIdentity(folder)
  expect(await storeIdentity(folder, id)).toBe(id)
  await rm(join(folder, IDENTITY_FILE))

  await expect(storeIdentity(folder, id)).rejects.toMatchObject({
    kind: 'conflict',
    message: expect.stringContaining(id),
  })
  expect(await readdir(folder)).toEqual([])
})

test('a folder that is absent has none', async () => {
  await expect(storeIdentity(join(folder, 'absent'))).rejects.toThrow('ENOENT')
})
