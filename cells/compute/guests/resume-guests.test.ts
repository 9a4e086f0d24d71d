import { expect, test, vi } from 'vitest'
import { Failure } from '#common/errors.ts'
import { type InstanceId, newId } from '#common/ids.ts'
import { createLogger } from '#common/log.ts'
import { resumeGuests } from './resume-guests.ts'

const log = createLogger('compute', 'silent')

test('the host reports after guests have gone on, and only then', async () => {
  const report = vi.fn(async () => {})
  const resume = vi.fn(async (): Promise<readonly InstanceId[]> => [])
  const guests = resumeGuests({ resume }, log, report)
  const signal = new AbortController().signal

  expect(await guests.round(signal)).toEqual({ resumed: 0 })
  expect(report).not.toHaveBeenCalled()
  resume.mockResolvedValue([newId<InstanceId>()])
  expect(await guests.round(signal)).toEqual({ resumed: 1 })
  expect(report).toHaveBeenCalledOnce()
})

test('a backend that is away is no failure of its own', async () => {
  const resume = vi.fn(async () => Promise.reject(new Failure('unavailable', 'away')))
  const guests = resumeGuests({ resume }, log, async () => {})

  expect(await guests.round(new AbortController().signal)).toEqual({ resumed: 0 })
  resume.mockRejectedValue(new Failure('internal', 'broken'))
  await expect(guests.round(new AbortController().signal)).rejects.toMatchObject({
    kind: 'internal',
  })
})
