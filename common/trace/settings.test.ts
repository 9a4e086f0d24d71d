import { expect, test } from 'vitest'
import { traceExportFromEnv } from './settings.ts'

const ENDPOINT = { OTEL_EXPORTER_OTLP_ENDPOINT: 'http://collector.test:4318' }

test('spans go to the path of traces below the endpoint, or to the endpoint of traces as it is', () => {
  const traces = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: 'https://collector.test/own' }

  expect(traceExportFromEnv({})).toBeUndefined()
  expect(traceExportFromEnv(ENDPOINT)).toEqual({
    url: 'http://collector.test:4318/v1/traces',
    headers: {},
    timeoutMs: 10_000,
    queueMax: 2_048,
    batchMax: 512,
    delayMs: 5_000,
    attributes: {},
  })
  expect(traceExportFromEnv({ ...ENDPOINT, ...traces })?.url).toBe('https://collector.test/own')
})

test.each([
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' }, "OTEL_EXPORTER_OTLP_ENDPOINT: 'collector' is not"],
  [{ OTEL_EXPORTER_OTLP_ENDPOINT: 'http://a,http://b' }, 'are several addresses; give one'],
  [{ OTEL_BSP_MAX_QUEUE_SIZE: '0' }, 'OTEL_BSP_MAX_QUEUE_SIZE: 0 is not an integer from 1'],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'secret' }, 'OTEL_EXPORTER_OTLP_HEADERS: give NAME=VALUE'],
  [{ OTEL_EXPORTER_OTLP_HEADERS: 'x=%' }, 'OTEL_EXPORTER_OTLP_HEADERS: give NAME=VALUE'],
])('%j is refused', (env, why) => {
  expect(() => traceExportFromEnv({ ...ENDPOINT, ...env })).toThrow(why)
})

test('what others read is let be, and refused where an operator sets it', () => {
  const env = { ...ENDPOINT, OTEL_PROPAGATORS: 'b3' }

  expect(traceExportFromEnv(env)?.url).toContain('/v1/traces')
  expect(() => traceExportFromEnv(env, true)).toThrow('OTEL_PROPAGATORS is not a known setting')
})
