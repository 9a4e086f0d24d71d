import { isFailure } from '#common/errors.ts'
import type { Session } from '../cloud/session.ts'
import type { Host } from '../hosts/host-listing.ts'
import type { Operator } from '../operator.ts'
import type { Node } from './node-listing.ts'

/** The machines of hosts. An unreachable host is named on standard error and left out, and the command ends as partial. */
export async function nodesOf(
  operator: Operator,
  { federation }: Session,
  hosts: readonly Host[],
): Promise<readonly Node[]> {
  const lists = await Promise.all(
    hosts.map(async ({ id, name }) => {
      try {
        return (await federation.ask('get', '/v1/hosts/{host}/nodes', { path: { host: id } })).nodes
      } catch (error) {
        if (!isFailure(error, 'unavailable')) throw error
        operator.endsAs('partial')
        operator.err.write(`weir: Host ${name} is left out: ${error.message}\n`)
        return []
      }
    }),
  )
  return lists.flat()
}
