import { Type } from 'typebox'
import { Failure } from '#common/errors.ts'
import type { Cloud } from '../cloud/cloud.ts'
import { CloudServer } from './cloud-server.ts'

const Page = Type.Object({
  servers: Type.Array(CloudServer),
  servers_links: Type.Optional(Type.Array(Type.Object({ rel: Type.String() }))),
})

export interface ServerList {
  readonly servers: readonly CloudServer[]
  /**
   * When the cloud began to answer, by its own clock, in epoch milliseconds; of one that does not say, when a server was
   * last changed. Undefined when nothing says.
   */
  readonly at: number | undefined
}

const PAGE_SIZE = '1000'
const PAGES_MAX = 1_000

/**
 * Every server of the project, or every one that has changed since a time of the cloud's clock, deleted ones
 * included. A list that breaks off throws: an incomplete one would look as if the other servers were gone.
 */
export async function listServers(
  cloud: Cloud,
  asked: { readonly since: number | undefined; readonly microversion: string | undefined },
  signal: AbortSignal,
): Promise<ServerList> {
  const servers: CloudServer[] = []
  const since =
    asked.since === undefined ? {} : { 'changes-since': new Date(asked.since).toISOString() }
  let at: number | undefined
  for (let page = 0; page < PAGES_MAX; page += 1) {
    const last = servers.at(-1)
    const marker = last === undefined ? {} : { marker: last.id }
    const { body, headers } = await cloud.ask(Page, 'compute', 'GET', '/servers/detail', {
      query: { limit: PAGE_SIZE, ...since, ...marker },
      microversion: asked.microversion,
      signal,
    })
    if (page === 0) at = timeOf(String(headers['date']))
    servers.push(...body.servers)
    const hasMore = body.servers_links?.some(({ rel }) => rel === 'next') === true
    if (!hasMore || body.servers.length === 0) return { servers, at: at ?? lastChange(servers) }
  }
  throw new Failure('unavailable', 'The list of servers of the nested cloud does not end.')
}

function timeOf(date: string): number | undefined {
  const time = Date.parse(date)
  return Number.isNaN(time) ? undefined : time
}

function lastChange(servers: readonly CloudServer[]): number | undefined {
  const times = servers.flatMap(({ updated = '' }) => timeOf(updated) ?? [])
  return times.length === 0 ? undefined : times.reduce((a, b) => Math.max(a, b))
}
