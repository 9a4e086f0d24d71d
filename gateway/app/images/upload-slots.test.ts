import { expect, test } from 'vitest'
import { systemClock } from '#common/clock.ts'
import { TooManyRequests } from '../request-limiter.ts'
import { UploadSlots } from './upload-slots.ts'

/** Time passes at once. */
const impatient = { ...systemClock, sleep: async () => undefined }
/** Time stands still. */
const patient = { ...systemClock, sleep: () => new Promise<never>(() => undefined) }

test('a project has no more uploads than its share, and all of them no more than the gateway takes', async () => {
  const slots = new UploadSlots({ max: 3, projectMax: 2 }, impatient)
  const [one, two] = [await slots.take('a'), await slots.take('a')]
  await expect(slots.take('a')).rejects.toThrow('takes 2 uploads of this project')

  const other = await slots.take('b')
  await expect(slots.take('c')).rejects.toThrow('already takes 3 uploads.')

  one[Symbol.dispose]()
  const third = await slots.take('c')
  await expect(slots.take('a')).rejects.toThrow(TooManyRequests)
  for (const each of [two, other, third]) each[Symbol.dispose]()
  await expect(Promise.all(['a', 'a', 'b'].map((each) => slots.take(each)))).resolves.toBeDefined()
})

test('the first that waits gets the slot that its project may have', async () => {
  const slots = new UploadSlots({ max: 2, projectMax: 1 }, patient)
  const admitted: string[] = []
  const wait = async (project: string) => {
    const slot = await slots.take(project)
    admitted.push(project)
    return slot
  }
  const [a, b] = [await slots.take('a'), await slots.take('b')]
  const waiting = ['a', 'c', 'b'].map(wait)

  b[Symbol.dispose]()
  await waiting[1]
  expect(admitted).toEqual(['c'])
  a[Symbol.dispose]()
  await waiting[0]
  expect(admitted).toEqual(['c', 'a'])
})

test('only so many wait', async () => {
  const slots = new UploadSlots({ max: 1, projectMax: 1 }, patient)
  await slots.take('a')
  const waiting = Array.from({ length: 4 }, () => slots.take('a'))

  await expect(slots.take('a')).rejects.toThrow(TooManyRequests)
  expect(waiting).toHaveLength(4)
})
