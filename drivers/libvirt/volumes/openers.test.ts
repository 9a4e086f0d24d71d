import { expect, test } from 'vitest'
import { Failure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { lockFailure } from './openers.ts'

const id = newId<VolumeId>()
const refused = (detail: string) => new Failure('internal', 'The command failed.', { detail })

test.each([
  `qemu-io: can't open device v: Failed to get "write" lock\nIs another process using the image [v]?`,
  'Failed to get shared "consistent read" lock',
  'Failed to lock byte 100: Resource temporarily unavailable',
  'Failed to lock byte 100',
])('a lock that another guest has is a conflict: %s', (detail) => {
  expect(lockFailure(refused(detail), id)).toMatchObject({
    kind: 'conflict',
    message: `Another guest has volume ${id} open.`,
  })
})

test.each([
  "qemu-img: Could not open 'v': Failed to lock byte 100: Stale file handle",
  'Failed to lock byte 100: No locks available',
  'Failed to lock byte 100: Transport endpoint is not connected',
  'No such file or directory',
])('a file system that does not lock says nothing of another guest: %s', (detail) => {
  const error = refused(detail)
  expect(lockFailure(error, id)).toBe(error)
})
