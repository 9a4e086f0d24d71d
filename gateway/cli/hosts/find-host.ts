import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { cellNames } from '../cells/cell-names.ts'
import type { Session } from '../cloud/session.ts'
import { allHosts } from './all-hosts.ts'
import type { Host } from './host-listing.ts'

/** The host of this id or name. Throws `not-found`, and `conflict` where several cells have one of this name. */
export async function findHost(session: Session, wanted: string, cell?: string): Promise<Host> {
  if (isUuid(wanted)) {
    return session.federation.ask('get', '/v1/hosts/{host}', { path: { host: wanted } })
  }
  const hosts = await allHosts(session, cell)
  const named = hosts.filter(({ name }) => name === wanted)
  const [found] = named
  if (found === undefined)
    throw new Failure('not-found', `There is no host ${wanted}. See: ./weir host list`)
  if (named.length === 1) return found
  const names = cellNames((await session.federation.ask('get', '/v1/cells')).cells)
  const where = named.map(({ cell_id: id }) => names.get(id) ?? id).join(', ')
  throw new Failure(
    'conflict',
    `Several cells have a host ${wanted}: ${where}. Add --cell, or give its id.`,
  )
}
