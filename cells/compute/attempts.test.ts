import { appendFile, mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, test } from 'vitest'
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

test('what was begun is on disk before begin() returns, and is known after a restart', async () => {
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
