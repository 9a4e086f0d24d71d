import { afterEach, beforeEach, expect, test } from 'vitest'
import { OtlpReceiver } from '#test/env/otlp-receiver.ts'
import { type Clock, systemClock } from '../clock.ts'
import { workContext } from '../context.ts'
import { Failure } from '../errors.ts'
import { createLogger } from '../log.ts'
import { type SpansEnd, spansMeasure } from '../metrics/measures.ts'
import { recordSpans } from './record-spans.ts'
import { traceExportFromEnv } from './settings.ts'
import { beginSpan, isTraced, spanMeasure, withinSpan } from './span.ts'
import { SpanExporter } from './span-exporter.ts'

const log = createLogger('test', 'silent')
const recorder = { program: 'gateway', process: 'gateway-1' } as const
let collector: OtlpReceiver
let counted: SpansEnd[]
let counting: Disposable

beforeEach(async () => {
  collector = await OtlpReceiver.open()
  counted = []
  counting = spansMeasure.listen((end) => counted.push(end))
})
afterEach(async () => {
  counting[Symbol.dispose]()
  await collector[Symbol.asyncDispose]()
})

/** Pauses between tries are over at once. */
const hasty: Clock = { ...systemClock, sleep: () => Promise.resolve() }
const open = (env: Readonly<Record<string, string>>, url: string, clock: Clock) => {
  const settings = traceExportFromEnv({ OTEL_EXPORTER_OTLP_ENDPOINT: url, ...env })!
  return new SpanExporter({ settings, resource: {}, release: '1', clock, log })
}
const sampled = () => workContext({ isSampled: true })
const span = (name: string) => ({
  name,
  kind: 'internal' as const,
  traceparent: sampled().traceparent,
  parentId: undefined,
  startedAt: 1,
  endedAt: 2,
  error: undefined,
})
const names = () => collector.spans().map(({ name }) => name)

test('a span is sent with its parent, its times, its attributes and its failure', async () => {
  const work = sampled()
  {
    const env = {
      OTEL_EXPORTER_OTLP_ENDPOINT: `${collector.url}/otlp/`,
      OTEL_EXPORTER_OTLP_HEADERS: 'x-key=a%2Cb',
      OTEL_RESOURCE_ATTRIBUTES: 'deployment.environment.name=test',
    }
    await using _spans = await recordSpans(env, recorder, log)
    const outer = beginSpan(work, {
      name: 'outer',
      kind: 'server',
      attributes: { text: 'x'.repeat(1_000), count: 3, isSo: true, none: undefined },
    })
    const failing = withinSpan(outer.work, { name: 'inner', kind: 'client' }, () =>
      Promise.reject(new Failure('conflict', 'It changed.', { detail: 'hidden' })),
    )
    await expect(failing).rejects.toThrow('It changed.')
    outer.end()
  }

  const [inner, outer] = collector.spans()
  expect(collector.requests).toMatchObject([
    { path: '/otlp/v1/traces', headers: { 'x-key': 'a,b', 'content-type': 'application/json' } },
  ])
  expect(outer).toMatchObject({
    traceId: work.traceparent.slice(3, 35),
    parentSpanId: work.traceparent.slice(36, 52),
    kind: 2,
    attributes: { text: 'x'.repeat(256), count: '3', isSo: true },
    resource: {
      'service.name': 'weir-gateway',
      'service.instance.id': 'gateway-1',
      'deployment.environment.name': 'test',
    },
  })
  expect(outer?.attributes).not.toHaveProperty('none')
  expect(outer).not.toHaveProperty('status')
  expect(inner).toMatchObject({
    parentSpanId: outer?.spanId,
    kind: 3,
    attributes: { 'error.type': 'conflict' },
    status: { code: 2, message: 'It changed.' },
  })
  const beganAt = Number(BigInt(outer!.startTimeUnixNano) / 1_000_000n)
  expect(Math.abs(Date.now() - beganAt)).toBeLessThan(60_000)
  expect(BigInt(outer!.endTimeUnixNano)).toBeGreaterThanOrEqual(BigInt(inner!.endTimeUnixNano))
})

test('without a collector nothing is recorded, and with one only what is sampled', async () => {
  {
    await using _none = await recordSpans({}, recorder, log)
    expect(spanMeasure.isOn).toBe(false)
    expect(isTraced(sampled())).toBe(false)
  }
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  await using _spans = await recordSpans(env, recorder, log)
  expect(isTraced(sampled())).toBe(true)
  expect(isTraced(workContext({}))).toBe(false)
})

test('spans beyond the queue are dropped and counted', async () => {
  {
    const env = { OTEL_BSP_MAX_QUEUE_SIZE: '3', OTEL_BSP_MAX_EXPORT_BATCH_SIZE: '2' }
    await using exporter = open(env, collector.url, systemClock)
    for (const name of ['a', 'b', 'c', 'd', 'e', 'f']) exporter.add(span(name))
  }

  // The first two left the queue to be sent.
  expect(names()).toEqual(['a', 'b', 'c', 'd', 'e'])
  expect(counted).toContainEqual({ outcome: 'queue-full', spans: 1 })
})

test('a batch that is refused for a moment is sent again, and one refused for good is dropped', async () => {
  collector.refusals.push([503], [429, { 'retry-after': '1' }])
  {
    await using exporter = open({ OTEL_BSP_SCHEDULE_DELAY: '1' }, collector.url, hasty)
    exporter.add(span('again'))
    await expect.poll(names).toEqual(['again'])

    collector.refusals.push([400])
    exporter.add(span('refused'))
    await expect.poll(() => counted.at(-1)).toEqual({ outcome: 'not-taken', spans: 1 })
  }
  expect(names()).toEqual(['again'])
  expect(collector.requests).toHaveLength(4)
})

test('a collector that stays silent costs its spans, and the end of the program little', async () => {
  const { url } = collector
  await collector[Symbol.asyncDispose]()
  {
    await using exporter = open({ OTEL_BSP_SCHEDULE_DELAY: '1' }, url, hasty)
    exporter.add(span('lost'))
    await expect.poll(() => counted).toEqual([{ outcome: 'not-taken', spans: 1 }])
  }
  collector = await OtlpReceiver.open()
})
