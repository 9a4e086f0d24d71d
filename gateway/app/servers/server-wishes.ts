import type { Executor } from '#common/db/database.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import { findServerWishes, type ServerWish } from '../../db/server-wishes.ts'
import type { RequestContext } from '../request-context.ts'
import type { ServerRecord } from './server-record.ts'

/** What was asked for the servers, by server. Until microversion 2.95 nobody is shown any of it: none is looked for. */
export async function serverWishes(
  db: Executor,
  context: RequestContext,
  servers: readonly ServerRecord[],
): Promise<ReadonlyMap<string, ServerWish>> {
  if (compareMicroversions(context.microversion as Microversion, '2.96') < 0) return new Map()
  return findServerWishes(
    db,
    servers.map(({ id }) => id),
  )
}
