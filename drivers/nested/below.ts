import { Type } from 'typebox'
import { isFailure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Downstream } from '../downstream.ts'
import { cloudsBelow } from './clouds-below.ts'
import { getServer } from './compute/find-server.ts'
import type { NestedHost } from './host.ts'

const Chain = Type.Object({ below: Type.Array(Type.String()) })
/** As many as a server may come through at most, whatever a cloud below says. */
const CHAIN_MAX = 32

export function nestedDownstream(host: NestedHost): Downstream {
  return {
    clouds: (via, signal) => cloudsBelow(host.cloud, via, signal),
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
