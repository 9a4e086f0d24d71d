import { callApi } from '#deploy/api/session.ts'
import { closedLoop } from '../closed-loop.ts'
import { eachOnce } from '../each-once.ts'
import {
  GLOBAL_DATABASE,
  headersAt,
  type Product,
  pageOf,
  SERVERS,
  setOtherCells,
} from '../product.ts'
import { requestBytes } from '../request.ts'
import { RowCounter } from '../row-counter.ts'
import { percentile } from '../statistics.ts'
import { bootStorm, CONCURRENCY, deleteStorm, until } from './storms.ts'
import { inSequence, inTurns, type Variants } from './variants.ts'

/** As many volumes and servers as a page has. */
const PAGE = 1_000
const READERS = 8
const WARM_UP_MS = 2_000
const RUN_MS = 2_000
const MICROVERSION = '2.79'
const COUNT = `select coalesce(sum(status = 'in-use'), 0) as attached,
  coalesce(sum(status = 'available'), 0) as free, count(*) as existing from volumes where project_id = ?`

type Volumes = RowCounter<'attached' | 'free' | 'existing'>

/** A thousand volumes: made, listed beside as many servers, attached to these, detached and deleted. */
export async function measureVolumes(product: Product, rounds: number): Promise<Variants> {
  // A volume is attached only to servers of its cell.
  await setOtherCells(product, { is_enabled: false })
  const { mariadb, projectId } = product
  await using counter: Volumes = await RowCounter.open(mariadb.rootUrl(GLOBAL_DATABASE), COUNT, [
    projectId,
  ])
  const { ids: servers } = await bootStorm(product, PAGE, 'bench-volumes')
  const volumes = await createVolumes(product, counter)
  const lists = await measureLists(product, rounds)
  const attachments = await measureAttachments(product, counter, servers, volumes, rounds)
  await each(
    product,
    volumes.map((id) => removal(product, id)),
  )
  await until(
    'product',
    () => counter.read(),
    ({ existing }) => existing === 0,
  )
  await deleteStorm(product, servers)
  await setOtherCells(product, { is_enabled: true })
  return { ...lists, ...attachments }
}

function each({ origin }: Product, requests: readonly Buffer[]) {
  return eachOnce(origin, requests, CONCURRENCY)
}

const volumesPath = ({ projectId }: Product) => `/volume/v3/${projectId}/volumes`
const headersOf = ({ demo }: Product) => ({ 'X-Auth-Token': demo.token })

async function createVolumes(product: Product, counter: Volumes): Promise<readonly string[]> {
  const quota = { volumes: -1, gigabytes: -1, per_volume_gigabytes: -1 }
  await callApi(product.admin, {
    method: 'PUT',
    path: `/volume/v3/os-quota-sets/${product.projectId}`,
    body: { quota_set: quota },
  })
  const create = (_: unknown, index: number) =>
    requestBytes({
      method: 'POST',
      path: volumesPath(product),
      headers: headersOf(product),
      body: { volume: { name: `bench-${index}`, size: 1 } },
    })
  const { answers } = await each(product, Array.from({ length: PAGE }, create))
  await until(
    'product',
    () => counter.read(),
    ({ free }) => free === PAGE,
  )
  return answers.map(
    ({ body }) => (JSON.parse(body.toString()) as { readonly volume: { id: string } }).volume.id,
  )
}

function removal(product: Product, id: string): Buffer {
  const path = `${volumesPath(product)}/${id}`
  return requestBytes({ method: 'DELETE', path, headers: headersOf(product) })
}

/** A page of a thousand volumes beside one of a thousand servers. */
async function measureLists(product: Product, rounds: number): Promise<Variants> {
  const { origin } = product
  const path = `${volumesPath(product)}/detail?limit=${PAGE}`
  const ways = [
    { name: 'servers', request: pageOf(product.demo, MICROVERSION, PAGE) },
    {
      name: 'volumes',
      request: requestBytes({ method: 'GET', path, headers: headersOf(product) }),
    },
  ].map(({ name, request }) => ({
    name: `list of ${PAGE} ${name}, c=${READERS}`,
    read: async (durationMs: number) => {
      const measured = await closedLoop({ origin, request, concurrency: READERS, durationMs })
      return { ...measured, operations: measured.requests }
    },
  }))
  for (const { read } of ways) await read(WARM_UP_MS)
  return inTurns(
    product,
    ways.map(({ name, read }) => ({ name, run: () => read(RUN_MS) })),
    rounds,
  )
}

/** Each volume is attached to a server of its own until all are `in-use`, and detached until all are `available`. */
async function measureAttachments(
  product: Product,
  counter: Volumes,
  servers: readonly string[],
  volumes: readonly string[],
  rounds: number,
): Promise<Variants> {
  const headers = headersAt(product.demo)
  const attachments = (server: string) => `${SERVERS}/${server}/os-volume_attachments`
  const pairs = volumes.map((volumeId, index) => ({ volumeId, server: servers[index]! }))
  const attach = pairs.map(({ volumeId, server }) => {
    const body = { volumeAttachment: { volumeId } }
    return requestBytes({ method: 'POST', path: attachments(server), headers, body })
  })
  const detach = pairs.map(({ volumeId, server }) => {
    const path = `${attachments(server)}/${volumeId}`
    return requestBytes({ method: 'DELETE', path, headers })
  })
  const storm = (requests: readonly Buffer[], state: 'attached' | 'free') => async () => {
    const startedAt = performance.now()
    const { latencies } = await each(product, requests)
    await until(
      'product',
      () => counter.read(),
      (count) => count[state] === PAGE,
    )
    const seconds = (performance.now() - startedAt) / 1_000
    return {
      operations: requests.length,
      perSecond: requests.length / seconds,
      p50Ms: percentile(latencies, 0.5),
      p99Ms: percentile(latencies, 0.99),
    }
  }
  return inSequence(
    product,
    [
      { name: `volumes attached, ${PAGE} at c=${CONCURRENCY}`, run: storm(attach, 'attached') },
      { name: `volumes detached, ${PAGE} at c=${CONCURRENCY}`, run: storm(detach, 'free') },
    ],
    rounds,
  )
}
