import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Session } from '../cloud/session.ts'

/** The id of the server of this id or name, of any project. Throws `not-found`, and `conflict` for a name of several. */
export async function findServer({ compute }: Session, wanted: string): Promise<string> {
  if (isUuid(wanted)) return wanted
  const query = { name: `^${escaped(wanted)}$`, all_tenants: true }
  const { servers } = await compute.ask('get', '/v2.1/servers', { query })
  const [found, ...others] = servers
  if (found === undefined)
    throw new Failure('not-found', `There is no server ${wanted}. See: ./weir server list`)
  if (others.length > 0)
    throw new Failure(
      'conflict',
      `${servers.length} servers are called ${wanted}. Give an id: ${servers.map(({ id }) => id).join(', ')}`,
    )
  return found.id
}

/** Names are looked up by a pattern. */
function escaped(name: string): string {
  return name.replaceAll(/[.*+?^${}()|[\]\\]/g, '\\$&')
}
