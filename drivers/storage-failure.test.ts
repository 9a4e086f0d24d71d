import { open, readdir } from 'node:fs/promises'
import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { storageFailure } from './storage-failure.ts'

test('a full disk becomes a failure for lack of room, and other errors stay unchanged', async () => {
  const full = await open('/dev/full', 'w')
  const error = await full.write('x').catch(storageFailure)
  await full.close()

  expect(error).toMatchObject({ kind: 'no-capacity' })
  expect(await readdir('/dev/null').catch(storageFailure)).toMatchObject({ kind: 'internal' })
  const other = Object.assign(new Error('gone'), { code: 'ENOENT' })
  expect(storageFailure(other)).toBe(other)
  expect(storageFailure('text')).toBe('text')
  const failureOf = (detail: string) =>
    storageFailure(new Failure('internal', 'The command failed.', { detail }))
  expect(failureOf('exit 1: write: No space left on device')).toMatchObject({ kind: 'no-capacity' })
  expect(failureOf('exit 1: no such option')).toMatchObject({ kind: 'internal' })
})
