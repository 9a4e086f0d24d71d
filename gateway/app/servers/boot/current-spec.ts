import type { Executor } from '#common/db/database.ts'
import type { InstanceId } from '#common/ids.ts'
import { findServer } from '../../../db/find-server.ts'
import type { ComputeDeps } from '../../compute.ts'
import { withVolumesOfNow } from '../../volumes/build-volumes.ts'
import type { BuildSpec } from './build-spec.ts'

/**
 * The server's request as it holds now, for a guest that is made again: with the name, the metadata, the NICs and the
 * volumes that the server has by now. The flavor stays the one to which a resize that waits for its end returns.
 */
export async function currentSpec(
  { network }: Pick<ComputeDeps, 'network'>,
  db: Executor,
  serverId: InstanceId,
  requested: BuildSpec,
): Promise<BuildSpec> {
  const spec = await withVolumesOfNow(db, serverId, requested)
  const server = await findServer(db, serverId)
  if (server === undefined) return spec
  const { name, hostname, metadata, description, tags, diskConfig, accessIPv4, accessIPv6 } = server
  const shown = { description, tags: [...tags], diskConfig, accessIPv4, accessIPv6 }
  const remarks = { hints: {}, ...spec.remarks, ...shown }
  const nics = [...(await network.nicsOf(db, serverId))]
  return { ...spec, name, hostname, metadata, nics, remarks }
}
