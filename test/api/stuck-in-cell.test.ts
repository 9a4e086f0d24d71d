import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, expect, test } from 'vitest'
import type { Conductor } from '#cells/conductor/conductor.ts'
import { type DeleteParams, deleteSaga } from '#cells/conductor/sagas/delete.ts'
import { configFromEnv as cellConfig } from '#cells/config.ts'
import { type RunningCell, startCell } from '#cells/context.ts'
import { workContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import { type CellId, newId } from '#common/ids.ts'
import type { Saga } from '#common/saga/saga.ts'
import { waitFor } from '#common/wait-for.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { configFromEnv } from '#gateway/config.ts'
import { createGateway, type Gateway } from '#gateway/context.ts'
import { createServer } from '#gateway/server.ts'
import { freshBus } from '#test/env/fresh-bus.ts'
import { freshDatabase } from '#test/env/fresh-database.ts'
import { gatewayEnv } from '#test/env/gateway-env.ts'
import { migratedDatabase } from '#test/env/migrated-database.ts'
import { seedRoles, seedUser } from '#test/env/seed-identity.ts'

// Goal: an operator of the gateway sees a stuck saga of a cell beside those of the gateway, and continues it in the same way.

const LIMIT_MS = 30_000
const no = () => Promise.reject(new Failure('internal', 'The disk is gone.'))
/** Of the same name, so that the cell takes it up with the steps of its own, of which none has run. */
const broken: Saga<Conductor, DeleteParams> = {
  ...deleteSaga,
  steps: [{ kind: 'remote', name: 'broken', run: no, undo: no }],
}

interface Reported {
  readonly id: string
  readonly message: string | null
}

const parts = new AsyncDisposableStack()
let cell: RunningCell | undefined
let gateway: Gateway
let begin: () => Promise<void>
let ask: (method: string, path: string) => Promise<{ status: number; body: unknown }>

beforeAll(async () => {
  const id = newId<CellId>()
  const bus = parts.use(await freshBus([id]))
  const url = await migratedDatabase('stuck_in_cell', 'gateway')
  const env = {
    ...(await gatewayEnv(url)),
    GATEWAY_NATS_CREDENTIALS_FILE: await bus.gatewayCredentialsFile(),
    GATEWAY_CELL_DEADLINE_MS: '3000',
  }
  gateway = parts.use(await createGateway(configFromEnv(env)))
  await seedRoles(gateway.db)
  await registerCell(gateway.db, { id, name: 'north' })
  const { token } = await seedUser(gateway.db, 'root', 'ops', 'admin')
  const app = createServer(gateway, ['federation'])
  ask = async (method, path) => {
    const headers = { Host: 'gw.example', 'X-Auth-Token': token }
    const answer = await app.request(`http://gw.example/federation/v1${path}`, { method, headers })
    return { status: answer.status, body: await answer.json() }
  }
  const config = cellConfig({
    CELL_ID: id,
    CELL_NAME: 'north',
    CELL_PROCESS: 'one',
    CELL_DATABASE_URL: await freshDatabase('stuck_in_cell_north'),
    CELL_SECRET_KEY: randomBytes(32).toString('hex'),
    CELL_NATS_URL: bus.url,
    CELL_NATS_CREDENTIALS_FILE: await bus.cellCredentialsFile(id),
    CELL_LOG_LEVEL: 'error',
  })
  begin = async () => {
    cell = await startCell(config)
  }
  await begin()
})

afterAll(async () => {
  await cell?.[Symbol.asyncDispose]()
  await parts[Symbol.asyncDispose]()
})

async function listed(): Promise<readonly Reported[]> {
  const { body } = await ask('GET', '/operations?state=failed')
  return (body as { operations: readonly Reported[] }).operations
}

async function stuckCount(): Promise<string | undefined> {
  const metrics = await gateway.federationMetrics.text()
  return /^weir_stuck_operations (\d+)$/m.exec(metrics)?.[1]
}

test("a stuck saga of a cell is listed with its cell, counted and has an event, and continues there at an operator's request", async () => {
  const serverId = newId<string>()
  const work = workContext({})
  const params = { serverId, attempt: 1 } as unknown as DeleteParams
  const start = { subject: serverId, params, work }
  const { id, finished } = await cell!.cell.sagas.start(broken, start)
  expect(await finished).toBe('stuck')

  const why = 'step broken could not be undone: The disk is gone.'
  const shown = expect.objectContaining({
    ...{ id, kind: 'delete', state: 'failed', subject: serverId, cell: 'north' },
    request_id: work.requestId,
    message: expect.stringContaining(why),
  })
  await expect.poll(listed, { timeout: LIMIT_MS }).toEqual([shown])
  await expect.poll(stuckCount, { timeout: LIMIT_MS }).toBe('1')
  const eventsOf = async () => {
    const { body } = await ask('GET', '/events?type=operation.state&cell=north&after=0')
    return (body as { events: readonly Reported[] }).events
  }
  const event = {
    action: 'delete',
    state: 'stuck',
    message: `delete of ${serverId} is stuck: ${why}`,
  }
  await expect.poll(eventsOf, { timeout: LIMIT_MS }).toEqual([expect.objectContaining(event)])

  // While its cell is away it is shown, and cannot be continued.
  await cell![Symbol.asyncDispose]()
  const cells = gateway.compute.cells
  await waitFor('the cell to be unreachable', () => !cells.cells()[0]!.isReachable, LIMIT_MS)
  expect(await listed()).toEqual([shown])
  expect(await ask('POST', `/operations/${id}/continue`)).toMatchObject({ status: 503 })
  await begin()
  await waitFor('a heartbeat of the cell', () => cells.cells()[0]!.isReachable, LIMIT_MS)

  expect(await ask('POST', `/operations/${id}/continue`)).toMatchObject({
    status: 200,
    body: { id, cell: 'north' },
  })
  // The cell's own delete has nothing to undo.
  await expect
    .poll(async () => (await ask('GET', `/operations/${id}?wait=5`)).body, { timeout: LIMIT_MS })
    .toMatchObject({ id, state: 'failed', message: null })
  expect(await listed()).toEqual([])
  await expect.poll(stuckCount, { timeout: LIMIT_MS }).toBe('0')
  expect(await ask('POST', `/operations/${id}/continue`)).toMatchObject({ status: 409 })
  expect(await eventsOf()).toHaveLength(1)
})
