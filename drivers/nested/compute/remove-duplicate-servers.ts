import { isFailure } from '#common/errors.ts'
import type { NestedHost } from '../host.ts'

const REMOVE_MS = 60_000

/**
 * Afterwards the cloud has been asked to remove every server that carries the mark of an instance whose record names
 * another: servers of requests whose answers were lost.
 */
export async function removeDuplicateServers({
  cloud,
  records,
  view,
}: Pick<NestedHost, 'cloud' | 'records' | 'view'>): Promise<void> {
  for (const server of view.all()) {
    const id = view.instanceOf(server)
    const named = id === undefined ? undefined : records.get(id)?.serverId
    if (named === undefined || named === null || named === server.id) continue
    const signal = AbortSignal.timeout(REMOVE_MS)
    await cloud
      .call('compute', 'DELETE', `/servers/${server.id}`, { signal })
      .catch((error: unknown) => {
        if (!isFailure(error, 'not-found', 'conflict')) throw error
      })
  }
}
