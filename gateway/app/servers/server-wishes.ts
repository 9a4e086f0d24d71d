import type { Executor } from '#common/db/database.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import { findServerWishes, type ServerWish } from '../../db/server-wishes.ts'
import type { RequestContext } from '../request-context.ts'
import type { ServerRecord } from './server-record.ts'

/** Certificates; zones, hints and images' properties are shown later. */
const TRUSTED_SINCE = '2.63'

/** What was asked for the servers, by server. Until microversion 2.62 nobody is shown any of it: none is looked for. */
export async function serverWishes(
  db: Executor,
  context: RequestContext,
  servers: readonly ServerRecord[],
): Promise<ReadonlyMap<string, ServerWish>> {
  if (compareMicroversions(context.microversion as Microversion, TRUSTED_SINCE) < 0)
    return new Map()
  return findServerWishes(
    db,
    servers.map(({ id }) => id),
  )
}
