import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { findHost, type HostRecord, listHosts } from '../../db/host-list.ts'
import { type ServerOnHost, serversOnHost } from '../../db/servers-on-host.ts'

export interface HostPageQuery {
  /** Of one cell; absent: of all. */
  readonly cellId?: string | undefined
  /** Whose driver has this ability; absent: any. */
  readonly capability?: string | undefined
  readonly limit: number
  readonly cursor?: string | undefined
}

export interface HostPage {
  readonly hosts: readonly HostRecord[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/** Hosts in the order in which they were first seen. Throws `invalid` for a cursor that no page gave. */
export async function hostPage(db: Executor, query: HostPageQuery): Promise<HostPage> {
  const { cellId, capability, limit, cursor = '0' } = query
  if (!/^\d{1,15}$/.test(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const range = { after: Number(cursor), limit: limit + 1, cellId, capability }
  const found = await listHosts(db, range)
  const hosts = found.slice(0, limit)
  return { hosts, next: found.length > limit ? String(hosts.at(-1)?.serial) : null }
}

export interface HostServerPage {
  readonly servers: readonly ServerOnHost[]
  /** Where the next page begins; null when this is the last. */
  readonly next: string | null
}

/** The servers on a host, by id. Throws `invalid` for a cursor that no page gave. */
export async function hostServerPage(
  db: Executor,
  host: HostRecord,
  { limit, cursor }: Pick<HostPageQuery, 'limit' | 'cursor'>,
): Promise<HostServerPage> {
  if (cursor !== undefined && !isUuid(cursor))
    throw new Failure('invalid', `Invalid cursor '${cursor}': take it from the page before.`)
  const found = await serversOnHost(db, host, cursor ?? '', limit + 1)
  const servers = found.slice(0, limit)
  return { servers, next: found.length > limit ? (servers.at(-1)?.id ?? null) : null }
}

/** Throws `not-found`. */
export async function findOperatedHost(db: Executor, id: string): Promise<HostRecord> {
  const host = isUuid(id) ? await findHost(db, id) : undefined
  if (host === undefined) throw new Failure('not-found', `There is no host with id ${id}.`)
  return host
}
