import { expect, test } from 'vitest'
import { EnvReader } from '#common/env.ts'
import { readTraces, tracePage } from './traces.ts'

const traces = (env: Readonly<Record<string, string>>) => {
  const read = new EnvReader(env, 'GATEWAY_')
  const settings = readTraces(read)
  read.finish()
  return settings
}

test('one request in a hundred is traced, no caller is trusted, and there are no links', () => {
  expect(traces({})).toEqual({ sampleRatio: 0.01, trustedCallers: [], pageUrl: undefined })
})

test('the id of a trace takes its place in the URL', () => {
  const { pageUrl } = traces({
    GATEWAY_TRACE_URL: 'http://jaeger.test/trace/{trace_id}?x={trace_id}',
  })

  expect(tracePage(pageUrl!, 'abc')).toBe('http://jaeger.test/trace/abc?x=abc')
})

test.each([
  [
    { GATEWAY_TRACE_SAMPLE_RATIO: '1.5' },
    'GATEWAY_TRACE_SAMPLE_RATIO: 1.5 is not a number from 0 to 1',
  ],
  [{ GATEWAY_TRACE_URL: 'http://jaeger.test/trace' }, 'with {trace_id} where'],
  [{ GATEWAY_TRACE_URL: 'jaeger/{trace_id}' }, 'is not an http(s) URL'],
])('%j is refused', (env, why) => {
  expect(() => traces(env)).toThrow(why)
})
