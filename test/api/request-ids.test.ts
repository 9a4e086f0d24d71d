import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import { askForServer, SERVERS, untilStatus } from '#test/env/api/servers.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { OtlpReceiver } from '#test/env/otlp-receiver.ts'

interface Line {
  readonly msg: string
  readonly request_id?: string
  readonly server_id?: string
  readonly trace_id?: string
}

let cloud: Cloud
let collector: OtlpReceiver

beforeAll(async () => {
  collector = await OtlpReceiver.open()
  const traces = { OTEL_EXPORTER_OTLP_ENDPOINT: collector.url }
  cloud = await startCloud({
    gateway: { ...traces, GATEWAY_TRACE_SAMPLE_RATIO: '1', GATEWAY_LOG_LEVEL: 'info' },
    cells: 1,
    processesPerCell: 1,
    hostsPerCell: 1,
    gateways: 1,
    outside: ['gateway', 'cell'],
  })
})

afterAll(async () => {
  await cloud?.[Symbol.asyncDispose]()
  await collector?.[Symbol.asyncDispose]()
})

const log = (name: string) => readFileSync(join(cloud.foundation.directory, `${name}.log`), 'utf8')

test('one request id leads from the answer to the log of every process and to the action', async () => {
  const demo = cloud.as('demo')

  const asked = await askForServer(cloud, demo, { user_data: 'c2VjcmV0LXVzZXItZGF0YQ==' })
  const { id } = asked.body.server
  const requestId = String(asked.headers['x-openstack-request-id'])
  await untilStatus(demo, id, 'ACTIVE')

  expect(requestId).toMatch(/^req-[0-9a-f-]{36}$/)
  expect(asked.headers['x-compute-request-id']).toBe(requestId)
  for (const name of ['gateway-1', 'north-process-1'])
    await waitFor(
      `the log of ${name} to name ${requestId}`,
      () => log(name).includes(requestId),
      5_000,
    )
  const lines = () =>
    log('gateway-1')
      .split('\n')
      .flatMap((line) => (line.startsWith('{') ? [JSON.parse(line) as Line] : []))
      .filter((line) => line.request_id === requestId && line.server_id === id)
  await expect
    .poll(() => lines().map(({ msg }) => msg))
    .toEqual(['request answered', 'server work ended'])
  // It begins at this gateway, and is recorded.
  const traceId = requestId.slice(4).replaceAll('-', '')
  expect(lines().map(({ trace_id: trace }) => trace)).toEqual([traceId, traceId])
  const action = await demo.get(`${SERVERS}/${id}/os-instance-actions/${requestId}`)
  expect(action.body['instanceAction']).toMatchObject({ action: 'create', request_id: requestId })
})

test("a caller's own request id is taken over, a malformed one is not", async () => {
  const demo = cloud.as('demo')
  const asking = async (id: string) =>
    (await demo.get(SERVERS, { headers: { 'x-openstack-request-id': id } })).headers[
      'x-openstack-request-id'
    ]
  const own = 'req-0a1b2c3d-0000-4000-8000-000000000000'

  expect(await asking(own)).toBe(own)
  expect(await asking('req-<script>')).toMatch(/^req-[0-9a-f-]{36}$/)
})

test('no log holds a password, a token or user data', async () => {
  const demo = cloud.as('demo')
  const token = await demo.token()
  const { password } = demo.account
  const asked = await askForServer(cloud, demo, { user_data: 'c2VjcmV0LXVzZXItZGF0YQ==' })
  await untilStatus(demo, asked.body.server.id, 'ACTIVE')

  const secrets = [password, token, asked.body.server.adminPass ?? '', 'c2VjcmV0LXVzZXItZGF0YQ==']
  for (const name of ['gateway-1', 'north-process-1'])
    for (const secret of secrets) expect(log(name)).not.toContain(secret)
})
