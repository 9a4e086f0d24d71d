import { beforeEach, expect, test } from 'vitest'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import type { DiskImage } from '#drivers/driver.ts'
import type { ImageTarget } from '../../images/image-client.ts'
import type { Compute } from '../compute.ts'
import { saveAndNote, shelve } from './save-disk.ts'

// Goal: what a host notes of a disk belongs to the image that was filled, or it notes nothing.

const ID = newId<InstanceId>()
const TARGET = { imageId: 'image', ticket: 't' }
const signal = AbortSignal.timeout(10_000)
let calls: string[]
let failing: Partial<Record<string, ErrorKind>>
let isFilled: boolean

beforeEach(() => {
  calls = []
  failing = {}
  isFilled = true
})

async function called(name: string): Promise<void> {
  calls.push(name)
  const kind = failing[name]
  if (kind !== undefined) throw new Failure(kind, `${name} failed`)
}

async function disk(name: string): Promise<DiskImage> {
  await called(name)
  return {
    diskFormat: 'qcow2',
    sizeBytes: 1,
    content: async function* () {},
    [Symbol.asyncDispose]: () => Promise.resolve(),
  }
}

const compute = {
  driver: {
    stop: () => called('stop'),
    start: () => called('start'),
    snapshot: { take: () => disk('snapshot') },
    diskChanges: {
      begin: () => disk('begin'),
      take: () => disk('take'),
      forget: () => called('forget'),
    },
  },
  images: {
    fill: async ({ changesOf }: ImageTarget) => {
      await called(changesOf === undefined ? 'fill' : `fill since ${changesOf}`)
      return isFilled
    },
  },
} as unknown as Compute

test('changes are noted from the copy that the image has', async () => {
  await saveAndNote(compute, ID, TARGET, signal)
  expect(calls).toEqual(['begin', 'fill'])
})

test('nothing is noted since a copy that the image does not have', async () => {
  isFilled = false
  await saveAndNote(compute, ID, TARGET, signal)
  expect(calls).toEqual(['begin', 'fill', 'forget'])

  failing = { forget: 'internal' }
  await expect(saveAndNote(compute, ID, TARGET, signal)).rejects.toThrow('forget failed')
  for (const step of ['begin', 'fill']) {
    calls = []
    failing = { [step]: 'unavailable', forget: 'internal' }
    await expect(saveAndNote(compute, ID, TARGET, signal)).rejects.toThrow(`${step} failed`)
    expect(calls.at(-1)).toBe('forget')
  }
})

const shelving = { target: TARGET, changesOf: 'copy', graceMs: 0, runs: true }

test('a guest that is off is saved by what it has written since the copy', async () => {
  await shelve(compute, ID, shelving, signal)
  expect(calls).toEqual(['stop', 'take', 'fill since copy'])
})

test.each(['conflict', 'unsupported'] as const)(
  'where the changes are not known (%s), the whole disk is saved',
  async (kind) => {
    failing = { take: kind }
    await shelve(compute, ID, shelving, signal)
    expect(calls).toEqual(['stop', 'take', 'snapshot', 'fill'])
  },
)

test('a guest whose changes cannot be saved runs again, unless somebody else is to try', async () => {
  failing = { take: 'internal' }
  await expect(shelve(compute, ID, shelving, signal)).rejects.toThrow('take failed')
  expect(calls).toEqual(['stop', 'take', 'start'])

  calls = []
  failing = { 'fill since copy': 'unavailable' }
  await expect(shelve(compute, ID, shelving, signal)).rejects.toThrow('fill since copy failed')
  expect(calls).toEqual(['stop', 'take', 'fill since copy'])
})
