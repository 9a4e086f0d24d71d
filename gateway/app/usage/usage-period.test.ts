import { expect, test } from 'vitest'
import { usagePeriod } from './usage-period.ts'

const now = new Date('2026-11-21T12:00:00Z')

test('a period is the requested one, and never ends after now', () => {
  expect(usagePeriod({ start: '2026-11-01T00:00:00', end: '2026-11-02T00:00:00.5' }, now)).toEqual({
    from: new Date('2026-11-01T00:00:00Z'),
    to: new Date('2026-11-02T00:00:00.5Z'),
  })
  const future = usagePeriod({ start: '2026-11-01 00:00:00.0', end: '2027-01-01T00:00:00' }, now)
  expect(future.to).toEqual(now)
  expect(usagePeriod({}, now)).toEqual({ from: now, to: now })
})

test.each([
  [{ start: '2026-11-03T00:00:00', end: '2026-11-02T00:00:00' }],
  [{ start: '2026-12-01T00:00:00' }],
  [{ start: 'yesterday' }],
  [{ end: '2026-13-41T00:00:00' }],
])('%o is refused', (asked) => {
  expect(() => usagePeriod(asked, now)).toThrow()
})
