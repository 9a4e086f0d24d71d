import { afterAll, beforeAll, expect, test } from 'vitest'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { WeirCommand } from '#test/env/weir-command.ts'

// Goal: an operator learns in one request, or one command, what of the federation is not well, and why.

interface Check {
  readonly kind: string
  readonly name: string
  readonly status: 'ok' | 'degraded' | 'failed'
  readonly reason: string
}

let cloud: Cloud
const owned = new AsyncDisposableStack()
beforeAll(async () => {
  cloud = owned.use(
    await startCloud({ gateways: 2, cells: 2, processesPerCell: 1, hostsPerCell: 1 }),
  )
})
afterAll(() => owned.disposeAsync())

async function health(): Promise<{ status: string; checks: readonly Check[] }> {
  const { body } = await cloud
    .as('admin')
    .get<{ status: string; checks: readonly Check[] }>('/federation/v1/health', { gateway: 0 })
  return body
}

/** What is not well, by kind and name. */
async function complaints(): Promise<Readonly<Record<string, string>>> {
  const { checks } = await health()
  const unwell = checks.filter(({ status }) => status !== 'ok')
  return Object.fromEntries(
    unwell.map(({ kind, name, status, reason }) => [`${kind} ${name}`, `${status}: ${reason}`]),
  )
}

test('where all is well each thing has the word ok and a reason, and every gateway is among them', async () => {
  const { status, checks } = await health()

  expect(checks.filter((check) => check.status !== 'ok')).toEqual([])
  expect(status).toBe('ok')
  expect(checks.every(({ reason }) => reason !== '')).toBe(true)
  const [first, second] = cloud.gateways.map(({ name }) => name)
  expect(checks.filter(({ kind }) => kind === 'gateway').map(({ name }) => name)).toEqual([
    first,
    second,
  ])
  const kinds = new Set(checks.map(({ kind }) => kind))
  expect([...kinds].toSorted()).toEqual(
    'bus cell clock credential database feed gateway operations queue release'.split(' '),
  )
})

test('/healthcheck answers as the middleware of OpenStack does', async () => {
  const url = `${cloud.endpoints[0]}/healthcheck`
  const text = await fetch(url)
  const head = await fetch(url, { method: 'HEAD' })
  const json = await fetch(url, { headers: { accept: 'application/json' } })
  const page = await fetch(url, { headers: { accept: 'text/html,application/xhtml+xml' } })

  expect([text.status, await text.text()]).toEqual([200, 'OK'])
  expect(head.status).toBe(204)
  expect(page.headers.get('content-type')).toContain('text/html')
  expect(await page.text()).toContain('<tr><th>Bus</th><td>OK</td></tr>')
  expect(await json.json()).toEqual({
    detailed: true,
    reasons: [
      { class: 'Database', reason: 'OK', details: '' },
      { class: 'Bus', reason: 'OK', details: '' },
    ],
  })
})

test('a host, a cell and a gateway that are away are named with the reason, and the command ends with 4', async () => {
  const weir = new WeirCommand(cloud, 'admin')
  expect((await weir.run('status --cluster')).code).toBe(0)

  const [north, south] = cloud.cells
  await north!.processes[0]!.stop()
  await south!.computes[0]!.process.stop()
  await cloud.gateways[1]!.stop()
  await expect.poll(complaints).toEqual({
    'cell north': 'failed: unreachable: no heartbeat comes',
    'cell south': 'degraded: 0 of 1 hosts up',
    [`gateway ${cloud.gateways[1]!.name}`]: expect.stringMatching(
      /^failed: left the bus \d+ s ago$/,
    ),
  })

  const { code, out } = await weir.run('status --cluster')
  expect(code).toBe(4)
  expect(out).toMatch(/^failed +cell +north +unreachable: no heartbeat comes$/m)
})

test('without its bus a gateway says so', async () => {
  const wire = cloud.gateways[0]!.wire('GATEWAY_NATS_URL')
  wire.set('hold')

  expect(await complaints()).toMatchObject({
    'bus nats': expect.stringMatching(/^failed: does not answer/),
  })
  const answer = await fetch(`${cloud.endpoints[0]}/healthcheck`)
  expect([answer.status, await answer.text()]).toEqual([503, 'the bus does not answer'])
  wire.set('pass')
})
