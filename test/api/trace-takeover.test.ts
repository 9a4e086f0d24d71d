import { expect, test } from 'vitest'
import { askForServer, untilStatus } from '#test/env/api/servers.ts'
import { startCloud } from '#test/env/cloud.ts'
import { OtlpReceiver } from '#test/env/otlp-receiver.ts'

const POLL = { timeout: 60_000, interval: 50 }

test('a boot whose gateway is killed goes on in the same trace at another one', async () => {
  await using collector = await OtlpReceiver.open()
  await using cloud = await startCloud({
    ...{ gateways: 2, cells: 1, processesPerCell: 1, hostsPerCell: 1 },
    gateway: {
      GATEWAY_TRACE_SAMPLE_RATIO: '1',
      OTEL_EXPORTER_OTLP_ENDPOINT: collector.url,
      OTEL_BSP_SCHEDULE_DELAY: '20',
    },
    outside: ['gateway'],
  })
  const demo = cloud.as('demo')
  const cell = cloud.cells[0]!.processes[0]!
  const gateway = cloud.gateways[0]!

  cell.freeze()
  const asked = await askForServer(cloud, demo, {}, { gateway: 0 })
  const requestId = String(asked.headers['x-openstack-request-id'])
  const spans = () => collector.spans(requestId.slice(4).replaceAll('-', ''))
  const root = () => spans().find(({ parentSpanId }) => parentSpanId === undefined)
  await expect.poll(root, POLL).toBeDefined()
  await gateway.kill()
  cloud.forget(0)
  cell.thaw()
  await untilStatus(demo, asked.body.server.id, 'ACTIVE')

  const settled = () => spans().find(({ name }) => name === 'create-server settle-1')
  await expect.poll(settled, POLL).toBeDefined()
  const built = spans().find(({ name, status }) => name.endsWith('build-1') && !status)
  expect(root()?.resource).toMatchObject({
    'service.name': 'weir-gateway',
    'service.instance.id': 'gateway-1',
  })
  expect(built).toMatchObject({
    parentSpanId: root()?.spanId,
    resource: { 'service.instance.id': 'gateway-2' },
    attributes: { 'weir.saga.name': 'create-server', 'weir.saga.step': 'build-1' },
  })
  expect(settled()?.resource['service.instance.id']).toBe('gateway-2')
})
