import { waitFor } from '#common/wait-for.ts'
import type { Microversion } from '#openapi/microversions.ts'
import type { Cloud } from '../cloud.ts'
import type { Answer, ApiClient, CallOptions } from './client.ts'

/** A server as tests read it; which fields there are depends on the microversion. */
export interface Server {
  readonly id: string
  readonly name: string
  readonly status: string
  readonly addresses: Readonly<Record<string, readonly { readonly addr: string }[]>>
  readonly fault?: { readonly code: number; readonly message: string }
  readonly [field: string]: unknown
}

export const SERVERS = '/compute/v2.1/servers'
const STATUS_LIMIT_MS = 30_000

/** The smallest server there is, with a NIC on the demo's network; `change` adds and replaces fields. */
export function smallServer(
  cloud: Pick<Cloud, 'catalog'>,
  change: object = {},
): { readonly server: object } {
  const { image, tiny, network } = cloud.catalog
  const networks = [{ uuid: network }]
  return {
    server: { name: 'small', imageRef: image, flavorRef: tiny, networks, ...change },
  }
}

/** Asks for a server and returns the whole answer. */
export function askForServer(
  cloud: Pick<Cloud, 'catalog'>,
  client: ApiClient,
  change: object = {},
  options: CallOptions = {},
): Promise<Answer<{ readonly server: { readonly id: string; readonly adminPass?: string } }>> {
  return client.post(SERVERS, smallServer(cloud, change), options)
}

/** Asks for a server, which must be accepted; returns its id. */
export async function createServer(
  cloud: Cloud,
  client: ApiClient,
  change: object = {},
  options: CallOptions = {},
): Promise<string> {
  const { status, body } = await askForServer(cloud, client, change, options)
  if (status !== 202) throw new Error(`Creating answered ${status}: ${JSON.stringify(body)}`)
  return body.server.id
}

export async function showServer(
  client: ApiClient,
  id: string,
  version: Microversion = '2.1',
): Promise<Server> {
  const { status, body } = await client.get<{ readonly server: Server }>(`${SERVERS}/${id}`, {
    version,
  })
  if (status !== 200) throw new Error(`Server ${id} answered ${status}: ${JSON.stringify(body)}`)
  return body.server
}

/** Resolves with the server once it has this status; an unexpected ERROR ends the wait at once. */
export async function untilStatus(
  client: ApiClient,
  id: string,
  status: string,
  limitMs = STATUS_LIMIT_MS,
): Promise<Server> {
  const server = await waitFor(
    `server ${id} to be ${status}`,
    async () => {
      const seen = await showServer(client, id)
      return seen.status === status || seen.status === 'ERROR' ? seen : undefined
    },
    limitMs,
  )
  if (server.status !== status)
    throw new Error(`Server ${id} is in ERROR: ${JSON.stringify(server.fault)}`)
  return server
}

/** A server that runs. */
export async function activeServer(
  cloud: Cloud,
  client: ApiClient,
  change: object = {},
): Promise<Server> {
  return untilStatus(client, await createServer(cloud, client, change), 'ACTIVE')
}

/** A server that runs in this zone and is not bound to it. */
export async function unboundServer(
  cloud: Cloud,
  client: ApiClient,
  zone: string,
  change: object = {},
): Promise<Server> {
  const server = await activeServer(cloud, client, { availability_zone: zone, ...change })
  const body = { server: { pinned_availability_zone: null } }
  const { status } = await client.put(`${SERVERS}/${server.id}`, body, { version: '2.104' })
  if (status !== 200) throw new Error(`Letting server ${server.id} go answered ${status}`)
  return server
}

/** Asks for one action on a server, such as `{ 'os-stop': null }`. */
export function act(
  client: ApiClient,
  id: string,
  action: object,
  options: CallOptions = {},
): Promise<Answer<Readonly<Record<string, unknown>>>> {
  return client.post(`${SERVERS}/${id}/action`, action, options)
}

/** Resolves once no saga holds the server any more, with its fields for administrators. */
export async function untilSettled(cloud: Cloud, id: string): Promise<Server> {
  return waitFor(
    `server ${id} to be at rest`,
    async () => {
      const server = await showServer(cloud.as('admin'), id)
      return server['OS-EXT-STS:task_state'] === null ? server : undefined
    },
    STATUS_LIMIT_MS,
  )
}

export async function untilGone(
  client: ApiClient,
  id: string,
  limitMs = STATUS_LIMIT_MS,
): Promise<void> {
  await waitFor(
    `server ${id} to be gone`,
    async () => (await client.get(`${SERVERS}/${id}`)).status === 404,
    limitMs,
  )
}

/** Deletes the server; the request must be accepted. Resolves once the server is gone. */
export async function deleteServer(client: ApiClient, id: string): Promise<void> {
  const { status } = await client.delete(`${SERVERS}/${id}`)
  if (status !== 204) throw new Error(`Deleting ${id} answered ${status}`)
  await untilGone(client, id)
}
