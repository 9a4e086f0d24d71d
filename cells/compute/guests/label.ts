import { Failure, isFailure } from '#common/errors.ts'
import type { InstanceId } from '#common/ids.ts'
import { errorFields } from '#common/log.ts'
import type { ServerLabels } from '#openapi/wire/labels.ts'
import type { Compute } from '../compute.ts'

const TIMEOUT_MS = 30_000

/** Afterwards the backend and the metadata service show those of these servers that are here, which the answer names, as they are called now. */
export async function label(
  { driver, metadata, log }: Compute,
  { servers }: { readonly servers: readonly ServerLabels[] },
): Promise<{ applied: string[] }> {
  const { labels } = driver
  for (const server of servers) await metadata?.label(server)
  if (labels === undefined && metadata !== undefined)
    return { applied: servers.map(({ serverId }) => serverId) }
  if (labels === undefined)
    throw new Failure(
      'unsupported',
      `Driver '${driver.name}' does not show names and metadata of servers.`,
    )
  const signal = AbortSignal.timeout(TIMEOUT_MS)
  const applied: string[] = []
  for (const { serverId, ...serverLabels } of servers)
    try {
      if (await labels.apply(serverId as InstanceId, serverLabels, signal)) applied.push(serverId)
    } catch (error) {
      if (!isFailure(error)) throw error
      log.info(
        { ...errorFields(error), server_id: serverId },
        'a server is not called as it is here',
      )
      // Labels that its backend refuses now it would refuse a moment later: they are sent again once they have changed.
      if (error.kind !== 'unavailable') applied.push(serverId)
    }
  return { applied }
}
