import { beforeEach, expect, test } from 'vitest'
import { type ErrorKind, Failure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import type { BackupChanges } from '#drivers/backup-changes.ts'
import type { DiskImage } from '#drivers/driver.ts'
import type { ImageTarget } from '../../images/image-client.ts'
import type { Compute } from '../compute.ts'
import { saveBackup } from './save-backup.ts'

// Goal: a backup is made of changes only where all of them are known, and what is noted belongs to the image that was filled.

const ID = newId<InstanceId>()
const TARGET = { imageId: 'new', ticket: 't' }
const signal = AbortSignal.timeout(10_000)
let calls: string[]
let failing: Partial<Record<string, ErrorKind>>
let isFilled: boolean
let isKnown: boolean

beforeEach(() => {
  calls = []
  failing = {}
  isFilled = true
  isKnown = true
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
    [Symbol.asyncDispose]: async () => void calls.push('dispose'),
  }
}

const backupChanges: BackupChanges = {
  async take(_id, { name, since }) {
    const isWhole = since === null || !isKnown
    return { disk: await disk(`take ${name} ${isWhole ? 'whole' : `since ${since}`}`), isWhole }
  },
  keep: (_id, name) => called(`keep ${name}`),
}

function host(part: BackupChanges | undefined) {
  return {
    driver: { snapshot: { take: () => disk('snapshot') }, backupChanges: part },
    images: {
      fill: async ({ changesOf }: ImageTarget) => {
        await called(changesOf === undefined ? 'fill' : `fill since ${changesOf}`)
        return isFilled
      },
    },
    log: { info: () => undefined },
  } as unknown as Compute
}

const save = (since: string | null) => saveBackup(host(backupChanges), ID, TARGET, since, signal)

test('what has changed since the backup before is sent, and noted from this one on', async () => {
  await save('old')
  expect(calls).toEqual(['take new since old', 'fill since old', 'dispose', 'keep new'])
})

test('the first one is whole, and so is one whose changes are not known', async () => {
  const whole = ['take new whole', 'fill', 'dispose', 'keep new']
  await save(null)
  expect(calls).toEqual(whole)
  calls = []
  isKnown = false
  await save('old')
  expect(calls).toEqual(whole)
})

test('a host that notes nothing saves the whole disk', async () => {
  await saveBackup(host(undefined), ID, TARGET, 'old', signal)
  expect(calls).toEqual(['snapshot', 'fill', 'dispose'])
})

test('where the image service cannot use the changes, the disk is taken again as a whole', async () => {
  failing = { 'fill since old': 'invalid' }
  await save('old')
  const taken = ['take new since old', 'fill since old', 'dispose']
  expect(calls).toEqual([...taken, 'take new whole', 'fill', 'dispose', 'keep new'])
})

test('nothing is noted since a moment that the image does not have', async () => {
  isFilled = false
  await save('old')
  expect(calls.at(-1)).toBe('keep null')

  for (const failed of ['take new since old', 'fill since old']) {
    calls = []
    failing = { [failed]: 'unavailable', 'keep null': 'internal' }
    await expect(save('old')).rejects.toThrow(`${failed} failed`)
    expect(calls.at(-1)).toBe('keep null')
    expect(calls).not.toContain('fill')
  }
})
