import { createConnection, type RowDataPacket } from 'mysql2/promise'
import { callApi } from '#deploy/api/session.ts'
import { Connection } from '../connection.ts'
import { GLOBAL_DATABASE, headersAt, type Product } from '../product.ts'
import { requestBytes, succeed, withBody } from '../request.ts'
import { bootStorm, deleteStorm, until } from './storms.ts'
import { inTurns, type Variants } from './variants.ts'

/** Servers that are requested while others want the same room, beside as many that have room to spare. */
export interface ContentionFigures {
  readonly variants: Variants
  /** By way, in all rounds together. */
  readonly retries: Readonly<Record<string, RetryFigures>>
}

export interface RetryFigures {
  readonly servers: number
  /** Choices of a cell after another one had refused the server. */
  readonly choicesAgain: number
  /** Claims on hosts that had filled up since they were chosen: the cell then claims the next. */
  readonly claimsLost: number
}

interface Way {
  readonly name: string
  /** In the names of its servers. */
  readonly key: string
  readonly servers: number
  /** What requests a server, made before each round. */
  readonly prepare: () => Promise<(name: string) => Buffer>
}

const PER_HOST = 50
/** A gateway refuses further boots while those that it has would take too long. */
const CONCURRENCY = 64
/** Of the second one twice as many servers would fit, so that these differ in nothing else. */
const FLAVOR = { exact: 'bench-exact', half: 'bench-half' } as const
const RETRIES = `select count(distinct i.server_id) as servers,
    coalesce(sum(t.level = 'cells' and t.attempt > 1), 0) as again,
    coalesce(sum(json_length(t.trace, '$.lostClaims')), 0) as lost
  from server_index i left join traces t on t.server_id = i.server_id
  where i.project_id = ? and i.name like ?`

/** Boots that all fit into the last room of all hosts, and into an anti-affinity group of all hosts, with and without room to spare. */
export async function measureContention(
  product: Product,
  rounds: number,
): Promise<ContentionFigures> {
  const { admin, projectId } = product
  const quota_set = { server_groups: -1, server_group_members: -1 }
  const path = `/compute/v2.1/os-quota-sets/${projectId}`
  await callApi(admin, { method: 'PUT', path, body: { quota_set } })
  const rooms = await makeFlavors(product)
  const retries: Record<string, RetryFigures> = {}
  const measured = async (ways: readonly Way[]) => {
    let made: { readonly way: Way; readonly prefix: string; readonly ids: readonly string[] }
    const variants = ways.map((way) => ({
      name: way.name,
      run: async (round: number) => {
        const prefix = `contended-${way.key}-${round}-`
        const requests = { create: await way.prepare() }
        const booter = { ...product, requests, concurrency: CONCURRENCY }
        const { ids, run } = await bootStorm(booter, way.servers, prefix)
        made = { way, prefix, ids }
        return run
      },
    }))
    return inTurns(product, variants, rounds, async () => {
      const { way, prefix, ids } = made
      const before = retries[way.name] ?? { servers: 0, choicesAgain: 0, claimsLost: 0 }
      retries[way.name] = sumOf(before, await readRetries(product, prefix))
      await deleteStorm(product, ids)
      // Cells say once a second what they have: what was given back is to be known, as room that was always there would.
      const { existing } = await product.count()
      await until(
        'the cells',
        () => serversReported(product),
        (servers) => servers === existing,
      )
    })
  }
  const ofRooms = await measured(roomWays(product, rooms))
  const ofGroups = await measured(groupWays(product, PER_HOST * (await hostsOf(product)).length))
  return { variants: { ...ofRooms, ...ofGroups }, retries }
}

function roomWays({ requests }: Product, servers: number): readonly Way[] {
  const of = (flavorRef: string) => (name: string) =>
    withBody(requests.create(name), ({ server }) => ({ server: { ...server, flavorRef } }))
  const name = `boots, ${servers} at c=${CONCURRENCY}`
  return [
    { name, key: 'free', servers, prepare: () => Promise.resolve(of(FLAVOR.half)) },
    {
      name: `${name} into the last room`,
      key: 'full',
      servers,
      prepare: () => Promise.resolve(of(FLAVOR.exact)),
    },
  ]
}

function groupWays(product: Product, servers: number): readonly Way[] {
  const inGroup = async (perHost: number) => {
    const group = await makeGroup(product, perHost)
    return (name: string) =>
      withBody(product.requests.create(name), (body) => ({
        ...body,
        'os:scheduler_hints': { group },
      }))
  }
  const name = `boots, ${servers} at c=${CONCURRENCY} in a group`
  return [
    {
      name: `${name}, any number on a host`,
      key: 'group',
      servers,
      prepare: () => inGroup(servers),
    },
    {
      name: `${name}, exactly ${PER_HOST} on each host`,
      key: 'apart',
      servers,
      prepare: () => inGroup(PER_HOST),
    },
  ]
}

/** In all cells, as the gateway knows them. */
async function serversReported({ admin }: Product): Promise<number> {
  const path = '/federation/v1/cells'
  const { cells } = await callApi<{ cells: readonly { summary: { servers: number } | null }[] }>(
    admin,
    { method: 'GET', path },
  )
  return cells.reduce((sum, { summary }) => sum + (summary?.servers ?? 0), 0)
}

interface Host {
  readonly total: { readonly memory_mb: number }
  readonly reserved: { readonly memory_mb: number }
  readonly used: { readonly memory_mb: number }
  readonly ratios: { readonly memory_mb: number }
}

async function hostsOf({ admin }: Product): Promise<readonly Host[]> {
  const path = '/federation/v1/hosts'
  return (await callApi<{ hosts: readonly Host[] }>(admin, { method: 'GET', path })).hosts
}

/**
 * Afterwards there is a flavor of which each host has room for 50 servers or little more, and one of half the size; returns
 * for how many of the former all have.
 */
async function makeFlavors(product: Product): Promise<number> {
  const free = (await hostsOf(product)).map(
    ({ total, reserved, used, ratios }) =>
      Math.floor((total.memory_mb - reserved.memory_mb) * ratios.memory_mb) - used.memory_mb,
  )
  const ram = Math.floor(Math.min(...free) / PER_HOST)
  for (const [name, size] of [
    [FLAVOR.exact, ram],
    [FLAVOR.half, Math.floor(ram / 2)],
  ] as const) {
    const flavor = { id: name, name, vcpus: 1, ram: size, disk: 1 }
    const path = '/compute/v2.1/flavors'
    await callApi(product.admin, { method: 'POST', path, body: { flavor } })
  }
  return free.reduce((sum, memoryMb) => sum + Math.floor(memoryMb / ram), 0)
}

async function makeGroup({ demo, origin }: Product, perHost: number): Promise<string> {
  using connection = await Connection.open(origin)
  const rules = { max_server_per_host: perHost }
  const request = requestBytes({
    method: 'POST',
    path: '/compute/v2.1/os-server-groups',
    headers: headersAt(demo, '2.64'),
    body: { server_group: { name: 'bench', policy: 'anti-affinity', rules } },
  })
  const { body } = await succeed(connection, request)
  return (JSON.parse(body.toString()) as { server_group: { id: string } }).server_group.id
}

async function readRetries(product: Product, prefix: string): Promise<RetryFigures> {
  const connection = await createConnection({ uri: product.mariadb.rootUrl(GLOBAL_DATABASE) })
  try {
    const values = [product.projectId, `${prefix}%`]
    const [[row]] = await connection.query<RowDataPacket[]>(RETRIES, values)
    const { servers, again, lost } = row!
    return {
      servers: Number(servers),
      choicesAgain: Number(again),
      claimsLost: Number(lost),
    }
  } finally {
    await connection.end()
  }
}

function sumOf(one: RetryFigures, other: RetryFigures): RetryFigures {
  return {
    servers: one.servers + other.servers,
    choicesAgain: one.choicesAgain + other.choicesAgain,
    claimsLost: one.claimsLost + other.claimsLost,
  }
}
