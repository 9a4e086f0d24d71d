import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { instancesFolder } from './instance-files.ts'
import { imagesInUse } from './instance-record.ts'

let state: string
beforeEach(async () => {
  state = await mkdtemp(join(tmpdir(), 'weir-record-'))
})
afterEach(() => rm(state, { recursive: true, force: true }))

test('imagesInUse() of a host that never had an instance is nothing', async () => {
  expect(await imagesInUse(state)).toEqual(new Set())
})

test('imagesInUse() fails where the records cannot be read: nothing may be taken for unused', async () => {
  await mkdir(join(instancesFolder(state), '..'), { recursive: true })
  await writeFile(instancesFolder(state), 'no folder')

  await expect(imagesInUse(state)).rejects.toMatchObject({ code: 'ENOTDIR' })
})
