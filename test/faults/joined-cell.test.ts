import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { waitFor } from '#common/wait-for.ts'
import type { ApiClient } from '#test/env/api/client.ts'
import { act, activeServer, deleteServer, showServer, untilStatus } from '#test/env/api/servers.ts'
import { Checkout } from '#test/env/checkout.ts'
import { type Cloud, startCloud } from '#test/env/cloud.ts'
import { isFullRun } from '#test/env/full-run.ts'
import { Relay } from '#test/env/relay.ts'
import { testServices } from '#test/env/services.ts'

// Goal: a cell elsewhere has only the way out, through which its bus dials the gateway's; it lives without that way.
// The long way only: it starts a second deployment. Joining and leaving as such are in test/api/joining.test.ts.

const SERVES_LIMIT_MS = 30_000
const CONVERGES_LIMIT_MS = 10_000
const SHUT_OUT_LIMIT_MS = 5_000

let cloud: Cloud
let admin: ApiClient
let demo: ApiClient
let wayOut: Relay
let elsewhere: Checkout
let token: string

interface CellShown {
  readonly is_alive: boolean
  readonly created_at: string
  readonly summary: { readonly hosts_up: number; readonly servers: number } | null
}

const edge = async () => (await admin.get<CellShown>('/federation/v1/cells/edge-1')).body
const joinEdge = () =>
  elsewhere.weir(
    ...['cell', 'join', '--gateway', cloud.endpoints[0] ?? '', '--token', token],
    ...['--driver', 'fake', '--hosts', '2'],
  )

describe.runIf(isFullRun)('a cell elsewhere', () => {
  beforeAll(async () => {
    const { natsLeafUrl } = await testServices()
    wayOut = await Relay.open(natsLeafUrl)
    elsewhere = new Checkout()
    cloud = await startCloud({
      gateways: 1,
      cells: 1,
      processesPerCell: 1,
      hostsPerCell: 1,
      gateway: { GATEWAY_NATS_LEAF_URL: wayOut.url },
    })
    admin = cloud.as('admin')
    demo = cloud.as('demo')
  })

  afterAll(async () => {
    await elsewhere?.[Symbol.asyncDispose]()
    await cloud?.[Symbol.asyncDispose]()
    await wayOut?.[Symbol.asyncDispose]()
  })

  test('one command on its machine makes a cell, which takes servers', async ({ annotate }) => {
    const made = await admin.post<{ token: string }>('/federation/v1/tokens', { cell: 'edge-1' })
    token = made.body.token
    const startMs = performance.now()

    const joined = await joinEdge()

    expect(joined).toMatchObject({ code: 0, stdout: expect.stringContaining('edge-1 has joined') })
    await waitFor('the cell to be heard', async () => (await edge()).is_alive, SERVES_LIMIT_MS)
    await annotate(`schedulable ${Math.round(performance.now() - startMs)} ms after the command`)
    expect((await edge()).summary).toMatchObject({ hosts_up: 2, servers: 0 })
    const { id } = await activeServer(cloud, demo, { availability_zone: 'edge-1' })
    expect((await act(demo, id, { 'os-getConsoleOutput': {} })).body['output']).toContain('booted')
    await deleteServer(demo, id)
  })

  test('it is made once: again it is told what to do instead', async () => {
    expect(await joinEdge()).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('a deployment in this folder already'),
    })
    await using other = new Checkout()
    const stolen = ['cell', 'join', '--gateway', cloud.endpoints[0] ?? '', '--token', token]
    expect(await other.weir(...stolen, '--driver', 'fake')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('was used'),
    })
    const inTheClear = ['cell', 'join', '--gateway', 'http://192.0.2.1', '--token', token]
    expect(await other.weir(...inTheClear, '--driver', 'fake')).toMatchObject({
      code: 1,
      stderr: expect.stringContaining('not sent in the clear'),
    })
  })

  test('without its way out it goes on, and its servers are shown as last known', async ({
    annotate,
  }) => {
    const { id } = await activeServer(cloud, demo, { availability_zone: 'edge-1' })
    const before = await elsewhere.processes()

    wayOut.set('refuse')
    await waitFor('the cell to be dark', async () => !(await edge()).is_alive, SERVES_LIMIT_MS)
    const stale = await demo.get<{ servers: readonly { id: string }[] }>(
      '/compute/v2.1/servers/detail',
    )
    expect(stale.headers['weir-stale']).toBeDefined()
    expect((await showServer(demo, id)).status).toBe('ACTIVE')
    expect(await elsewhere.processes()).toEqual(before)

    wayOut.set('pass')
    const startMs = performance.now()
    await waitFor('the cell to be back', async () => (await edge()).is_alive, CONVERGES_LIMIT_MS)
    await act(demo, id, { 'os-stop': null })
    await untilStatus(demo, id, 'SHUTOFF')
    await annotate(
      `converged ${Math.round(performance.now() - startMs)} ms after the link was back`,
    )

    const refused = await admin.delete('/federation/v1/cells/edge-1')
    expect(refused.status).toBe(409)
    await deleteServer(demo, id)
  })

  test('it leaves when it is empty, and is shut out at once and for good', async () => {
    await waitFor(
      'it to say it is empty',
      async () => (await edge()).summary?.servers === 0,
      10_000,
    )

    expect((await admin.delete('/federation/v1/cells/edge-1')).status).toBe(204)

    const log = () => readFileSync(join(elsewhere.home, 'nats', 'nats.log'), 'utf8')
    await waitFor(
      'it to be refused',
      () => /Authorization Violation/.test(log()),
      SHUT_OUT_LIMIT_MS,
    )
    expect((await admin.get('/federation/v1/cells/edge-1')).status).toBe(404)
    expect((await admin.get<CellShown>('/federation/v1/cells/north')).body.is_alive).toBe(true)
  })
})
