import {
  appendFile,
  type FileHandle,
  mkdtemp,
  open as openFile,
  readFile,
  rm,
  writeFile,
} from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { Attempts } from './attempts.ts'

let directory: string
const id = newId<InstanceId>()

beforeEach(async () => {
  directory = await mkdtemp(join(tmpdir(), 'attempts-'))
})
afterEach(() => rm(directory, { recursive: true }))

const file = () => join(directory, 'attempts')
const open = () => Attempts.open({ file: file(), clock: systemClock, retentionMs: 1_000 })

test('begin() allows the same attempt again and refuses an older one', async () => {
  await using attempts = await open()

  expect(await attempts.begin(id, 2)).toBeUndefined()
  expect(await attempts.begin(id, 2)).toBeUndefined()
  expect(await attempts.begin(id, 1)).toBe(2)
  expect(await attempts.begin(id, 3)).toBeUndefined()
})

test('begin() refuses an attempt that was finished, and allows the next', async () => {
  await using attempts = await open()
  await attempts.begin(id, 1)
  await attempts.finish(id, 1)

  expect(await attempts.begin(id, 1)).toBe(1)
  expect(await attempts.begin(id, 2)).toBeUndefined()
})

test('finish() of an attempt never begun here forbids it', async () => {
  await using attempts = await open()
  await attempts.finish(id, 4)

  expect(await attempts.begin(id, 4)).toBe(4)
})

test('finish() of an old attempt leaves the newer one allowed', async () => {
  await using attempts = await open()
  await attempts.begin(id, 2)
  await attempts.finish(id, 1)

  expect(await attempts.begin(id, 2)).toBeUndefined()
})

test('a begun attempt is on disk before begin() returns, and is known after a restart', async () => {
  {
    await using before = await open()
    await before.begin(id, 7)
    expect(await readFile(file(), 'utf8')).toContain(`${id} 7 begun`)
  }
  await using after = await open()

  expect(await after.begin(id, 6)).toBe(7)
})

test('a torn last line is ignored', async () => {
  {
    await using before = await open()
    await before.begin(id, 1)
  }
  await appendFile(file(), `${id} 9 ov`)
  await using after = await open()

  expect(await after.begin(id, 2)).toBeUndefined()
})

test('many that begin at once are all on disk', async () => {
  const ids = Array.from({ length: 200 }, () => newId<InstanceId>())
  {
    await using attempts = await open()
    await Promise.all(ids.map((each) => attempts.begin(each, 2)))
  }
  await using after = await open()

  expect(await Promise.all(ids.map((each) => after.begin(each, 1)))).toEqual(ids.map(() => 2))
})

test('lines after a torn line are known after a restart', async () => {
  await writeFile(file(), `${newId()} 9 ov`)
  {
    await using torn = await open()
    await torn.begin(id, 3)
  }
  await using after = await open()

  expect(await after.begin(id, 2)).toBe(3)
})

test('begin() that could not write does not allow the attempt until it is on disk', async () => {
  await using attempts = await open()
  await using handle = await openFile(file(), 'r')
  const full = vi
    .spyOn(Object.getPrototypeOf(handle) as FileHandle, 'datasync')
    .mockRejectedValueOnce(new Error('ENOSPC'))

  await expect(attempts.begin(id, 1)).rejects.toThrow('ENOSPC')
  expect(await attempts.begin(id, 1)).toBeUndefined()
  expect(full).toHaveBeenCalledTimes(2)
  full.mockRestore()
})

test('the file is compacted while it is written, and entries that are over and old are dropped', async () => {
  const options = { file: file(), clock: systemClock, retentionMs: -1, compactAfterLines: 10 }
  const others = Array.from({ length: 30 }, () => newId<InstanceId>())
  await using attempts = await Attempts.open(options)
  await attempts.begin(id, 2)
  for (const other of others) await attempts.finish(other, 1)

  const lines = (await readFile(file(), 'utf8')).trim().split('\n')
  expect(lines.length).toBeLessThan(12)
  expect(lines.some((line) => line.startsWith(`${id} 2 begun`))).toBe(true)
  expect(await attempts.begin(id, 1)).toBe(2)
})
