import { expect, test } from 'vitest'
import { isUuid } from '#common/ids.ts'
import { messageId, novaTime, osloTime } from './notification.ts'

const AT = new Date('2026-11-21T10:00:00.250Z')

test('the same text has the same id, and another text another', () => {
  const id = messageId('1042 instance.create.end')

  expect(isUuid(id)).toBe(true)
  expect(messageId('1042 instance.create.end')).toBe(id)
  expect(messageId('1043 instance.create.end')).not.toBe(id)
})

test('times are as oslo writes them', () => {
  expect(osloTime(AT)).toBe('2026-11-21 10:00:00.250000')
  expect(novaTime(AT)).toBe('2026-11-21T10:00:00Z')
  expect(novaTime(null)).toBeNull()
})
