import { expect, test } from 'vitest'
import { spanMeasure } from '#common/trace/span.ts'
import { isSampled, traceIdOf } from '#common/trace/traceparent.ts'
import { type RequestSampling, requestWork } from './request-trace.ts'
import { trustedProxies } from './trusted-proxies.ts'

const TRACE = 'a'.repeat(32)
const SPAN = 'b'.repeat(16)
const TRUSTED = '192.0.2.7'

const input = (peerAddress: string, headers: Readonly<Record<string, string>>) => ({
  request: new Request('http://gateway.test/'),
  header: (name: string) => headers[name],
  peerAddress,
  isFramed: true,
})
const sampling = (given: Partial<RequestSampling> = {}): RequestSampling => ({
  isTrustedProxy: trustedProxies(['10.0.0.1']),
  isTrustedCaller: trustedProxies([TRUSTED, '2001:db8::/64']),
  ratio: 0.5,
  chance: () => 0.7,
  ...given,
})
const from = (flags: string) => ({ traceparent: `00-${TRACE}-${SPAN}-${flags}` })
const isRecorded = (peer: string, headers: Readonly<Record<string, string>>, chance: number) =>
  isSampled(requestWork(input(peer, headers), sampling({ chance: () => chance })).work.traceparent)

test('the share of requests that is recorded is as set, whatever callers ask for', () => {
  using _recording = spanMeasure.listen(() => undefined)

  expect(isRecorded('198.51.100.1', {}, 0.49)).toBe(true)
  expect(isRecorded('198.51.100.1', {}, 0.5)).toBe(false)
  expect(isRecorded('198.51.100.1', from('01'), 0.5)).toBe(false)
  expect(isRecorded('198.51.100.1', from('00'), 0.49)).toBe(true)
  const { work, callerSpanId } = requestWork(input('198.51.100.1', from('01')), sampling())
  expect(traceIdOf(work.traceparent)).not.toBe(TRACE)
  expect(callerSpanId).toBeUndefined()
})

test('a ratio of 0 records nothing, and one of 1 everything', () => {
  using _recording = spanMeasure.listen(() => undefined)
  const withRatio = (ratio: number, chance: number) =>
    isSampled(
      requestWork(input('198.51.100.1', {}), sampling({ ratio, chance: () => chance })).work
        .traceparent,
    )

  expect(withRatio(0, 0)).toBe(false)
  expect(withRatio(1, 0.999_999)).toBe(true)
})

test.each([
  ['its own address', TRUSTED, {}],
  ['an address in a block', '2001:db8::5', {}],
  ['the address that a trusted proxy reports', '10.0.0.1', { 'x-forwarded-for': TRUSTED }],
])('a caller trusted for %s decides, and its trace is continued', (_why, peer, headers) => {
  using _recording = spanMeasure.listen(() => undefined)

  expect(isRecorded(peer, { ...headers, ...from('01') }, 0.9)).toBe(true)
  expect(isRecorded(peer, { ...headers, ...from('00') }, 0.1)).toBe(false)
  const found = requestWork(input(peer, { ...headers, ...from('01') }), sampling())
  expect(found.callerSpanId).toBe(SPAN)
  expect(found.work.traceparent).toMatch(new RegExp(`^00-${TRACE}-(?!${SPAN})[0-9a-f]{16}-01$`))
})

test('a gateway that records nothing hands on the decision of a trusted caller, and makes none', () => {
  const { work } = requestWork(input(TRUSTED, from('01')), sampling())

  expect(work.traceparent).toBe(from('01').traceparent)
  expect(isRecorded('198.51.100.1', {}, 0)).toBe(false)
})
