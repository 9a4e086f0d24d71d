import type { Hono } from 'hono'
import { type CellId, newId } from '#common/ids.ts'
import { waitFor } from '#common/wait-for.ts'
import { registerCell } from '#gateway/app/cells/register-cell.ts'
import { configFromEnv } from '#gateway/config.ts'
import { createGateway, type Gateway } from '#gateway/context.ts'
import { createServer } from '#gateway/server.ts'
import { type Contract, contractOf } from '#openapi/contract.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { checkedAnswer } from './api/check-response.ts'
import { freshBus } from './fresh-bus.ts'
import { gatewayEnv } from './gateway-env.ts'
import { migratedDatabase } from './migrated-database.ts'
import { ScriptedCell } from './scripted-cell.ts'
import { seedRoles, seedUser, type TestRole, type TestUser } from './seed-identity.ts'

/** One call of an operation, as a client at one microversion makes it. */
export interface ApiCall {
  readonly params?: Readonly<Record<string, string>>
  readonly query?: string
  readonly body?: unknown
  readonly version?: Microversion
  readonly headers?: Readonly<Record<string, string>>
}

export interface ApiAnswer<Body> {
  readonly status: number
  readonly body: Body
  readonly headers: Headers
}

/** A user of the API under test. */
export interface ApiClient extends TestUser {
  /** `Body` is what the test reads of the answer, which has been validated against its document. */
  call<Body = Readonly<Record<string, unknown>>>(
    operationId: string,
    call?: ApiCall,
  ): Promise<ApiAnswer<Body>>
}

/** The Compute API of one gateway with a database of its own, called inside the process. */
export interface ComputeApi extends AsyncDisposable {
  readonly gateway: Gateway
  /** Scripted cells that have reported over the bus, in the order of their names. */
  readonly cells: readonly ScriptedCell[]
  user(name: string, project: string, role: TestRole): Promise<ApiClient>
}

/** How long a cell may be silent before it counts as unreachable in tests. */
const CELL_DEADLINE_MS = 3_000
const HEARD_LIMIT_MS = 30_000

/** Every answer is validated against the projection of the microversion asked for. */
export async function computeApi(
  name: string,
  cellNames: readonly string[] = [],
  env: Readonly<Record<string, string>> = {},
): Promise<ComputeApi> {
  await using parts = new AsyncDisposableStack()
  const url = await migratedDatabase(name, 'gateway')
  const ids = cellNames.map(() => newId<CellId>())
  const bus = parts.use(await freshBus(ids))
  const config = configFromEnv({
    ...(await gatewayEnv(url)),
    GATEWAY_NATS_CREDENTIALS_FILE: await bus.gatewayCredentialsFile(),
    GATEWAY_CELL_DEADLINE_MS: String(CELL_DEADLINE_MS),
    ...env,
  })
  const gateway = parts.use(await createGateway(config))
  await seedRoles(gateway.db)
  const cells = await Promise.all(
    cellNames.map(async (cellName, i) => {
      await registerCell(gateway.db, { id: ids[i]!, name: cellName })
      return parts.use(await ScriptedCell.open(bus, ids[i]!, cellName))
    }),
  )
  await waitFor(
    'a heartbeat of every cell',
    () => ids.every((id) => gateway.compute.cells.cell(id)?.isReachable === true),
    HEARD_LIMIT_MS,
  )
  const contract = contractOf('compute')
  const app = createServer(gateway, ['compute'])
  const owned = parts.move()

  return {
    gateway,
    cells,
    user: async (userName, project, role) => {
      const user = await seedUser(gateway.db, userName, project, role)
      const call = <Body>(id: string, asked: ApiCall = {}) =>
        request<Body>(app, contract, user.token, { id, call: asked })
      return { ...user, call }
    },
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}

async function request<Body>(
  app: Hono,
  contract: Contract,
  token: string,
  asked: { readonly id: string; readonly call: ApiCall },
): Promise<ApiAnswer<Body>> {
  const { params = {}, query = '', body, version = '2.1' } = asked.call
  const operation = contract.operation(asked.id)
  const path = operation.path.replaceAll(/\{(\w+)\}/g, (_, key: string) =>
    encodeURIComponent(params[key] ?? `missing-${key}`),
  )
  const { method } = operation
  const url = `http://gw.example/compute${path}${query}`
  const headers = new Headers({
    Host: 'gw.example',
    'X-Auth-Token': token,
    'OpenStack-API-Version': `compute ${version}`,
    ...asked.call.headers,
    ...(body !== undefined && { 'Content-Type': 'application/json' }),
  })
  const content = body === undefined ? {} : { body: JSON.stringify(body) }
  const response = await app.request(url, { method, headers, ...content })
  const answer = await checkedAnswer({ method, url, headers, body }, response)
  return { status: response.status, body: answer as Body, headers: response.headers }
}
