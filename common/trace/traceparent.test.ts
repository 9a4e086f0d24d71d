import { expect, test } from 'vitest'
import { workContext } from '../context.ts'
import { childTraceparent, isSampled, parseTraceparent } from './traceparent.ts'

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)

test.each([
  ['01', '01'],
  ['00', '00'],
  ['03', '01'],
  ['0a', '00'],
])('of the flags %s only that of sampling is kept', (flags, kept) => {
  expect(parseTraceparent(`00-${TRACE}-${SPAN}-${flags}`)).toBe(`00-${TRACE}-${SPAN}-${kept}`)
})

test.each([
  undefined,
  '',
  `01-${TRACE}-${SPAN}-01`,
  `00-${'0'.repeat(32)}-${SPAN}-01`,
  `00-${TRACE}-${'0'.repeat(16)}-01`,
  `00-${TRACE}-${SPAN}-01-more`,
])('%s is no traceparent', (text) => {
  expect(parseTraceparent(text)).toBeUndefined()
})

test('a child has a span of its own, and is sampled as its parent', () => {
  for (const flags of ['01', '00']) {
    const child = childTraceparent(`00-${TRACE}-${SPAN}-${flags}`)
    expect(child).toMatch(new RegExp(`^00-${TRACE}-[0-9a-f]{16}-${flags}$`))
    expect(child).not.toContain(SPAN)
  }
})

test('a trace has the id of the request that begins it, and is recorded only on demand', () => {
  const requestId = 'req-0a1b2c3d-0000-4000-8000-00000000000f'

  const { traceparent } = workContext({ requestId })
  expect(traceparent).toMatch(/^00-0a1b2c3d00004000800000000000000f-[0-9a-f]{16}-00$/)
  expect(isSampled(workContext({ isSampled: true }).traceparent)).toBe(true)
})
