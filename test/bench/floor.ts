import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { createConnection } from 'mysql2/promise'
import { request } from 'undici'
import { waitFor } from '#common/wait-for.ts'
import { projectRoot } from '#deploy/paths.ts'
import { freePort } from '#deploy/process/free-port.ts'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { logTail, startProcess } from '#deploy/process/start-process.ts'
import { stopProcess } from '#deploy/process/stop-process.ts'
import { Connection } from './connection.ts'
import { FLOOR_TABLES } from './floor/tables.ts'
import type { Product } from './product.ts'
import { requestBytes, succeed } from './request.ts'
import { RowCounter } from './row-counter.ts'
import type { ServerCount, Target } from './target.ts'

const DATABASE = 'weir_floor'
/** As many processes as the product has. */
const CELLS = 2
const COMPUTES = 4
const READY_LIMIT_MS = 30_000
const COUNT = `select coalesce(sum(state = 'active'), 0) as active, count(*) as existing
  from floor_servers join floor_mappings using (id)`

/**
 * Afterwards the floor serves, on the product's own database and bus, with the answers the product gives now, until
 * `owned` is disposed.
 */
export async function startFloor(owned: AsyncDisposableStack, product: Product): Promise<Target> {
  await makeDatabase(product)
  const port = await freePort()
  const origin = new URL(`http://127.0.0.1:${port}`)
  const settings = {
    FLOOR_PORT: String(port),
    FLOOR_DATABASE_URL: product.mariadb.rootUrl(DATABASE),
    FLOOR_READ_DATABASE_URL: product.mariadb.rootUrl('weir'),
    FLOOR_READ_PROJECT: product.projectId,
    FLOOR_NATS_URL: product.nats.url,
    FLOOR_NATS_CREDENTIALS_FILE: join(product.layout.secrets, 'gateway.creds'),
    FLOOR_BODIES_FILE: await saveBodies(product),
  }
  const processes: Record<string, ProcessIdentity> = {}
  for (const name of programs()) {
    const identity = await start(product, name, settings)
    owned.defer(() => stopProcess(identity))
    processes[name] = identity
  }
  await waitUntilReady(origin).catch((cause: unknown) => {
    throw new Error(`The floor does not serve: ${logTail(logFile(product, 'gateway'))}`, { cause })
  })
  const count = owned.use(
    await RowCounter.open<keyof ServerCount>(product.mariadb.rootUrl(DATABASE), COUNT, []),
  )
  const requests = await requestsOf(origin, product)
  return {
    name: 'floor',
    origin,
    processes,
    requests,
    count: () => count.read(),
  }
}

function programs(): readonly string[] {
  const numbered = (kind: string, count: number) =>
    Array.from({ length: count }, (_, index) => `${kind}-${index + 1}`)
  return ['gateway', ...numbered('cell', CELLS), ...numbered('compute', COMPUTES)]
}

function logFile({ layout }: Product, name: string): string {
  return join(layout.logs, `floor-${name}.log`)
}

function start(
  product: Product,
  name: string,
  settings: Readonly<Record<string, string>>,
): Promise<ProcessIdentity> {
  return startProcess({
    command: process.execPath,
    args: [`test/bench/floor/${name.replace(/-\d+$/, '')}.ts`],
    env: { PATH: process.env['PATH'], TZ: 'UTC', ...settings },
    directory: projectRoot,
    logFile: logFile(product, name),
    lifetime: 'with-parent',
  })
}

async function makeDatabase({ mariadb }: Product): Promise<void> {
  const connection = await createConnection({ uri: mariadb.rootUrl() })
  try {
    await connection.query(`CREATE DATABASE ${DATABASE}`)
    await connection.query(`USE ${DATABASE}`)
    for (const table of FLOOR_TABLES) await connection.query(table)
  } finally {
    await connection.end()
  }
}

/** What the product answers to each read is what the floor will answer: the same bytes of JSON. */
async function saveBodies({ origin, requests, layout }: Product): Promise<string> {
  using connection = await Connection.open(origin)
  const body = async (bytes: Buffer) =>
    JSON.parse((await succeed(connection, bytes)).body.toString()) as unknown
  const file = join(layout.home, 'floor-bodies.json')
  const { one, hundred, token } = requests
  const bodies = { one: await body(one), hundred: await body(hundred), token: await body(token) }
  writeFileSync(file, JSON.stringify(bodies), { mode: 0o600 })
  return file
}

async function waitUntilReady(origin: URL): Promise<void> {
  await waitFor(
    'the floor to serve',
    async () => {
      const { statusCode, body } = await request(`${origin.origin}/ready`)
      await body.dump()
      return statusCode === 200
    },
    READY_LIMIT_MS,
  )
}

async function requestsOf(origin: URL, product: Product): Promise<Target['requests']> {
  const secret = requestBytes({
    method: 'POST',
    path: '/tokens',
    headers: {},
    body: { password: 'secret' },
  })
  using connection = await Connection.open(origin)
  const { head } = await succeed(connection, secret)
  const token = /^x-subject-token: *(\S+)/im.exec(head)?.[1] ?? ''
  const headers = { 'X-Auth-Token': token }
  const id = /servers\/(\S+)/.exec(product.requests.one.toString())?.[1]
  return {
    one: requestBytes({ method: 'GET', path: `/servers/${id}`, headers }),
    hundred: requestBytes({ method: 'GET', path: '/servers/detail', headers }),
    token: secret,
    create: (name) =>
      requestBytes({
        method: 'POST',
        path: '/servers',
        headers,
        body: { server: { name, flavorRef: '1', networks: 'none' } },
      }),
    remove: (serverId) => requestBytes({ method: 'DELETE', path: `/servers/${serverId}`, headers }),
  }
}
