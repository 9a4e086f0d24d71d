import type { Executor } from '#common/db/database.ts'
import { compareMicroversions, type Microversion } from '#openapi/microversions.ts'
import { groupsOfServers } from '../../db/server-groups.ts'
import type { RequestContext } from '../request-context.ts'

/** Ids of the groups a server is in, one at most. Until microversion 2.70 nobody is shown them: none are looked for. */
export async function groupsOfServer(
  db: Executor,
  context: RequestContext,
  serverId: string,
): Promise<readonly string[]> {
  return compareMicroversions(context.microversion as Microversion, '2.71') >= 0
    ? groupsOfServers(db, [serverId])
    : []
}
