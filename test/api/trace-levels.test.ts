import { afterAll, beforeAll, expect, test } from 'vitest'
import { createLogger } from '#common/log.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { askForServer, SERVERS, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { startDrivenHost } from '#test/env/driven-host.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { nestedSettingsFor } from '#test/env/nested-settings.ts'
import { OtlpReceiver, pathOf, rootsOf } from '#test/env/otlp-receiver.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

const POLL = { timeout: 30_000, interval: 50 }
const LEVELS = isFullRun ? 3 : 2
const PAGE = 'https://traces.test/trace/{trace_id}'
const CREATE = 'POST /compute/v2.1/servers'
/** From a gateway to the call of a host's driver: those that ask and those that answer. */
const LEVEL = [
  CREATE,
  'create-server build-1',
  ...['instance.build', 'instance.build'],
  'boot spawn-1',
  ...['spawn', 'spawn'],
]

/** The clouds, outermost first: each but the last has one host, which is a project of the next. */
const clouds: Cloud[] = []
const owned = new AsyncDisposableStack()
let collector: OtlpReceiver

beforeAll(async () => {
  collector = owned.use(await OtlpReceiver.open())
  const env = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url, OTEL_BSP_SCHEDULE_DELAY: '50' }
  const log = createLogger('test', 'silent')
  owned.use(await recordSpans(env, { program: 'gateway', process: 'all' }, log))
  const small = { gateways: 1, cells: 1, processesPerCell: 1 }
  const top = { GATEWAY_TRACE_SAMPLE_RATIO: '1', GATEWAY_TRACE_URL: PAGE }
  const below = { GATEWAY_TRACE_SAMPLE_RATIO: '0', GATEWAY_TRACE_TRUSTED_CALLERS: '127.0.0.1' }
  for (let level = 1; level <= LEVELS; level += 1) {
    const gateway = level === 1 ? top : below
    const hostsPerCell = level === LEVELS ? 1 : 0
    clouds.push(owned.use(await startCloud({ ...small, gateway, hostsPerCell })))
  }
  for (const [index, child] of clouds.entries())
    if (index > 0)
      owned.use(await startDrivenHost(clouds[index - 1]!, 'nested', nestedSettingsFor(child)))
})
afterAll(() => owned.disposeAsync())

test('the spans of a boot through all clouds are one tree, to which the request leads', async () => {
  const top = clouds[0]!
  const demo = top.as('demo')
  const asked = await askForServer(top, demo)
  await untilStatus(demo, asked.body.server.id, 'ACTIVE')
  const requestId = String(asked.headers['x-openstack-request-id'])
  const traceId = requestId.slice(4).replaceAll('-', '')
  const spans = () => collector.spans(traceId)
  const namesOf = (name: string) => spans().filter((span) => span.name === name)

  // A span is sent when it ends, and parents end last.
  await expect.poll(() => namesOf('boot activate').length, POLL).toBe(LEVELS)
  await expect.poll(() => rootsOf(spans()).map(({ name }) => name), POLL).toEqual([CREATE])

  const [root] = rootsOf(spans())
  expect(root?.parentSpanId).toBeUndefined()
  expect(root?.attributes).toMatchObject({
    'weir.request_id': requestId,
    'http.response.status_code': '202',
  })
  expect(namesOf(CREATE)).toHaveLength(LEVELS)
  const [atBottom] = namesOf('fake spawn')
  const through = Array.from({ length: LEVELS - 1 }, () => [
    ...LEVEL,
    ...['nested spawn', 'POST compute'],
  ])
  expect(pathOf(spans(), atBottom!)).toEqual([...through.flat(), ...LEVEL, 'fake spawn'])

  const shown = await new WeirCommand(top, 'admin').run(`request show ${requestId}`)
  expect(shown.out).toContain(`TRACE\n${traceId}  ${PAGE.replace('{trace_id}', traceId)}\n`)
})

test('only a trusted caller chooses the trace, and whether it is recorded', async () => {
  const traceId = 'a'.repeat(32)
  const parentSpanId = 'b'.repeat(16)
  const asking = (cloud: Cloud, headers: Readonly<Record<string, string>>) =>
    cloud.as('demo').get(SERVERS, { headers })
  const [untrusting, trusting] = clouds

  const requestId = 'req-0a1b2c3d-0000-4000-8000-00000000000f'
  await asking(untrusting!, {
    traceparent: `00-${traceId}-${parentSpanId}-00`,
    'x-openstack-request-id': requestId,
  })
  await asking(trusting!, { traceparent: `00-${traceId}-${parentSpanId}-00` })
  await asking(trusting!, { traceparent: `00-${traceId}-${parentSpanId}-01` })
  await asking(trusting!, {})

  const own = () => collector.spans(requestId.slice(4).replaceAll('-', ''))
  await expect.poll(() => own().length, POLL).toBe(1)
  expect(own()[0]?.parentSpanId).toBeUndefined()
  await expect.poll(() => collector.spans(traceId).length, POLL).toBe(1)
  expect(collector.spans(traceId)[0]).toMatchObject({ parentSpanId, name: `GET ${SERVERS}` })
})
