import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { callApi, type Session, signIn } from '#deploy/api/session.ts'
import { DEMO_FLAVORS } from '#deploy/catalog/ensure-flavors.ts'
import { cloudAccount } from '#deploy/deployment/clouds-file.ts'
import { type Layout, layoutIn } from '#deploy/deployment/layout.ts'
import type { DeploymentState } from '#deploy/deployment/state.ts'
import { bringDown } from '#deploy/down/bring-down.ts'
import { type Mariadb, runningMariadb } from '#deploy/mariadb.ts'
import { type Nats, runningNats } from '#deploy/nats.ts'
import { freePort } from '#deploy/process/free-port.ts'
import { endpointOf } from '#deploy/up/exposed.ts'
import { bringUp } from '#deploy/up/up.ts'
import { waitForHosts } from '#deploy/up/wait-ready.ts'
import type { Microversion } from '#openapi/microversions.ts'
import { requestBytes } from './request.ts'
import { RowCounter } from './row-counter.ts'
import type { ServerCount, Target } from './target.ts'

/** The product at work, as `./weir up --driver fake` starts it, in a directory of its own. */
export interface Product extends Target {
  readonly layout: Layout
  /** The request `hundred` at another microversion. */
  readonly listAt: (version: Microversion) => Buffer
  /** What users ask: with an address of a network, behind a security group. */
  readonly createOnNetwork: (name: string) => Buffer
  readonly oneAsAdmin: Buffer
  readonly thousand: Buffer
  /** What the gateway says of itself. */
  readonly metrics: Buffer
  readonly admin: Session
  readonly demo: Session
  readonly mariadb: Mariadb
  readonly nats: Nats
  readonly projectId: string
  /** From the start of database, bus and all processes until every host serves, on a machine that did it before. */
  readonly readyMs: number
}

type Progress = (line: string) => void

const MICROVERSION = '2.79'
export const SERVERS = '/compute/v2.1/servers'
const UNLIMITED = -1
/** One project asks for all that a gateway can answer. */
const UNLIMITED_RATES = [
  'GATEWAY_PROJECT_REQUESTS_PER_MINUTE=0',
  'GATEWAY_USER_TOKENS_PER_MINUTE=0',
]
export const GLOBAL_DATABASE = 'weir'
const COUNT = `select coalesce(sum(vm_state = 'active'), 0) as active, count(*) as existing
  from server_index where project_id = ? and deleted_at is null`

/** How many cells, and hosts of each. */
export interface ProductSize {
  readonly cells: number
  readonly hosts: number
}

/**
 * Afterwards a fake-driver cloud of this size serves with these further settings (`NAME=value`), and its demo project has
 * no limits. Disposing `owned` stops it and leaves nothing, also when it has not yet started.
 */
export async function startProduct(
  owned: AsyncDisposableStack,
  size: ProductSize,
  progress: Progress,
  settings: readonly string[] = [],
): Promise<Product> {
  const layout = layoutIn(mkdtempSync(join(tmpdir(), 'weir-bench-')))
  owned.defer(() => rmSync(layout.home, { recursive: true, force: true }))
  owned.defer(async () => {
    await bringDown(layout, () => {})
  })
  // Hosts of a cell share their volumes: any of them can be attached to any server there.
  const volumes = `COMPUTE_DRIVER_VOLUME_STORE=${join(layout.home, 'volumes')}`
  const set = [...UNLIMITED_RATES, volumes, ...settings]
  await bringUp(layout, { driver: 'fake', ...size, port: await freePort(), set }, progress)
  const { state, readyMs } = await restart(layout, progress)
  const endpoint = endpointOf(state)
  const demo = cloudAccount(layout, 'weir')
  const session = await signIn(endpoint, demo)
  const admin = await adminOf(layout, state)
  const projectId = await unlimit(admin, demo.projectName)
  const mariadb = running(runningMariadb(layout.mariadb))
  const count = owned.use(await countServers(mariadb, projectId))
  const requests = await requestsOf(session, layout)
  return {
    name: 'product',
    origin: new URL(endpoint),
    processes: state.processes,
    requests,
    listAt: (version) => listAt(session, version),
    createOnNetwork: await createOf(session, [await addNetwork(session, 'bench')]),
    oneAsAdmin: withToken(requests.one, session, admin),
    thousand: pageOf(session, MICROVERSION, 1_000),
    metrics: requestBytes({ method: 'GET', path: '/metrics', headers: headersAt(admin) }),
    admin,
    demo: session,
    count: () => count.read(),
    layout,
    mariadb,
    nats: running(runningNats(layout.nats)),
    projectId,
    readyMs,
  }
}

/** Everything is stopped and started again: the first start also makes what a warm machine has. */
async function restart(layout: Layout, progress: Progress) {
  await bringDown(layout, progress)
  const startedAt = performance.now()
  const { state } = await bringUp(layout, {}, progress)
  await waitForHosts(layout, state, await adminOf(layout, state))
  return { state, readyMs: performance.now() - startedAt }
}

/** Counts the servers of a project. */
export function countServers(
  mariadb: Mariadb,
  projectId: string,
): Promise<RowCounter<keyof ServerCount>> {
  return RowCounter.open(mariadb.rootUrl(GLOBAL_DATABASE), COUNT, [projectId])
}

export function adminOf(layout: Layout, state: DeploymentState): Promise<Session> {
  return signIn(endpointOf(state), cloudAccount(layout, 'weir-admin'))
}

/** Afterwards all cells but the first are as given. */
export async function setOtherCells(
  { admin }: Pick<Product, 'admin'>,
  body: object,
): Promise<void> {
  const path = '/federation/v1/cells'
  const { cells } = await callApi<{ cells: readonly { readonly id: string }[] }>(admin, {
    method: 'GET',
    path,
  })
  for (const { id } of cells.slice(1))
    await callApi(admin, { method: 'PATCH', path: `${path}/${id}`, body })
}

/** Afterwards the project may have any number of servers; returns its id. */
export async function unlimit(admin: Session, name: string): Promise<string> {
  const { projects } = await callApi<{ projects: readonly [{ readonly id: string }] }>(admin, {
    method: 'GET',
    path: `/identity/v3/projects?name=${name}`,
  })
  const [{ id }] = projects
  await callApi(admin, {
    method: 'PUT',
    path: `/compute/v2.1/os-quota-sets/${id}`,
    body: { quota_set: { instances: UNLIMITED, cores: UNLIMITED, ram: UNLIMITED } },
  })
  await callApi(admin, {
    method: 'PUT',
    path: `/networking/v2.0/quotas/${id}`,
    body: { quota: { network: UNLIMITED, subnet: UNLIMITED, port: UNLIMITED } },
  })
  return id
}

/** Addresses rest when they are given back: those of a smaller subnet would run out. */
const MANY_ADDRESSES = '10.96.0.0/12'

/** Afterwards the project has a network with a million addresses; returns its id. */
export async function addNetwork(session: Session, name: string): Promise<string> {
  const { network } = await callApi<{ network: { readonly id: string } }>(session, {
    method: 'POST',
    path: '/networking/v2.0/networks',
    body: { network: { name } },
  })
  await callApi(session, {
    method: 'POST',
    path: '/networking/v2.0/subnets',
    body: { subnet: { network_id: network.id, ip_version: 4, cidr: MANY_ADDRESSES } },
  })
  return network.id
}

export function headersAt(
  { token }: Session,
  version: Microversion = MICROVERSION,
): Readonly<Record<string, string>> {
  return { 'X-Auth-Token': token, 'OpenStack-API-Version': `compute ${version}` }
}

function listAt(session: Session, version: Microversion): Buffer {
  return pageOf(session, version, 100)
}

export function pageOf(session: Session, version: Microversion, limit: number): Buffer {
  const path = `${SERVERS}/detail?limit=${limit}`
  return requestBytes({ method: 'GET', path, headers: headersAt(session, version) })
}

function withToken(request: Buffer, { token }: Session, other: Session): Buffer {
  return Buffer.from(request.toString().replace(token, other.token))
}

/** What asks for a server in the session's project, on one of these networks after the other, or on none. */
export async function createOf(
  session: Session,
  networks: readonly string[] = [],
): Promise<Target['requests']['create']> {
  const { images } = await callApi<{ images: readonly [{ readonly id: string }] }>(session, {
    method: 'GET',
    path: '/image/v2/images',
  })
  const { id: imageRef } = images[0]
  const flavorRef = DEMO_FLAVORS[0]!.id
  let asked = 0
  const nextNics = () => {
    if (networks.length === 0) return { networks: 'none' }
    const uuid = networks[asked++ % networks.length]
    return { networks: [{ uuid }], security_groups: [{ name: 'default' }] }
  }
  return (name) =>
    requestBytes({
      method: 'POST',
      path: SERVERS,
      headers: headersAt(session),
      body: { server: { name, flavorRef, imageRef, ...nextNics() } },
    })
}

async function requestsOf(session: Session, layout: Layout): Promise<Target['requests']> {
  const headers = headersAt(session)
  const { servers } = await callApi<{ servers: readonly [{ readonly id: string }] }>(session, {
    method: 'GET',
    path: SERVERS,
  })
  const { userName, password, projectName } = cloudAccount(layout, 'weir')
  const domain = { id: 'default' }
  return {
    one: requestBytes({ method: 'GET', path: `${SERVERS}/${servers[0].id}`, headers }),
    hundred: listAt(session, MICROVERSION),
    token: requestBytes({
      method: 'POST',
      path: '/identity/v3/auth/tokens',
      headers: {},
      body: {
        auth: {
          identity: {
            methods: ['password'],
            password: { user: { name: userName, domain, password } },
          },
          scope: { project: { name: projectName, domain } },
        },
      },
    }),
    create: await createOf(session),
    remove: (id) => requestBytes({ method: 'DELETE', path: `${SERVERS}/${id}`, headers }),
  }
}

function running<T>(value: T | undefined): T {
  if (value === undefined) throw new Error('The deployment does not run')
  return value
}
