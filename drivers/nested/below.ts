import { Type } from 'typebox'
import { Failure, isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { CloudsBelow, Downstream } from '../downstream.ts'
import { cellsThrough } from './cells-through.ts'
import type { Cloud } from './cloud/cloud.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

const Chain = Type.Object({ below: Type.Array(Type.String()) })
/** The most clouds that a server's chain may have, also if a nested cloud reports more. */
const CHAIN_MAX = 32

export function nestedDownstream(host: NestedHost): Downstream {
  return {
    clouds: (via, signal) => cloudsBelow(host.cloud, via, signal),
    cells: (asked, signal) => cellsThrough(host.cloud, asked, signal),
    async chain(id, signal) {
      const server = await getServer(host, id, signal)
      return [server.id, ...(await furtherDown(host, server.id, signal))]
    },
  }
}

/** What another Weir says of its server; nothing of a cloud that is none, or is too old to say. */
async function furtherDown(
  { cloud }: NestedHost,
  serverId: string,
  signal: AbortSignal,
): Promise<readonly string[]> {
  try {
    const path = `/servers/${serverId}/chain`
    const { body } = await cloud.ask(Chain, 'federation', 'GET', path, { signal })
    return body.below.filter(isUuid).slice(0, CHAIN_MAX)
  } catch (error) {
    if (isFailure(error)) return []
    throw error
  }
}

const Depth = Type.Object({
  depth: Type.Integer({ minimum: 0 }),
  is_whole: Type.Boolean(),
})

/**
 * The number of clouds below this one, itself included, for a query that came through these cells. A cloud that is not
 * a Weir, or too old for the query, is the last. Throws `conflict` if one of them has such a cell: they form a ring.
 */
export async function cloudsBelow(
  cloud: Cloud,
  via: readonly string[],
  signal: AbortSignal,
): Promise<CloudsBelow> {
  try {
    const { body } = await cloud.ask(Depth, 'federation', 'GET', '/depth', { via, signal })
    return { depth: 1 + body.depth, isWhole: body.is_whole }
  } catch (error) {
    if (isFailure(error, 'unsupported') || isFailure(error, 'not-found'))
      return { depth: 1, isWhole: true }
    if (!isFailure(error, 'conflict')) throw error
    const { detail } = error
    throw new Failure(
      'conflict',
      'The nested clouds lead back to this deployment: they form a ring.',
      {
        ...(detail === undefined ? {} : { detail }),
        cause: error,
      },
    )
  }
}
