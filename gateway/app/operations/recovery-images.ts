import type { InstanceId } from '#common/ids.ts'
import { newestSnapshots } from '../../db/image-snapshots.ts'
import { findImage } from '../../db/images.ts'
import { findRequestSpec } from '../../db/request-specs.ts'
import type { Compute } from '../compute.ts'
import { savedImage } from '../servers/acts/shelved-image.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { volumesOf } from '../volumes/carried.ts'
import type { LostServer, RecoverySource } from './recovery-plan.ts'

/** What a server would be built from, or why it cannot be. */
export interface Recoverable {
  readonly server: LostServer
  /** Null: it cannot be built. */
  readonly image: BuildSpec['image'] | null
  readonly source: RecoverySource | null
  readonly reason: string | null
}

/** What each of the servers would be built from, in their order. */
export async function* imagesFor(
  db: Compute['db'],
  servers: readonly LostServer[],
  source: RecoverySource,
): AsyncGenerator<Recoverable> {
  const saved =
    source === 'snapshot' ? await newestSnapshots(db, servers) : new Map<string, string>()
  for (const server of servers) yield await imageFor(db, server, saved.get(server.id))
}

/** Why a server is not built again that starts from a volume. */
async function whereItsDiskIs(db: Compute['db'], { id, lostCellId }: LostServer): Promise<string> {
  const [root] = await volumesOf(db, id as InstanceId)
  return root === undefined || root.cellId === lostCellId
    ? 'It starts from a volume, which is lost with the cell.'
    : `It starts from volume ${root.id}, which had left the cell before. Delete the server, and create one from that volume.`
}

async function imageFor(
  db: Compute['db'],
  server: LostServer,
  snapshotId: string | undefined,
): Promise<Recoverable> {
  const not = (reason: string) => ({ server, image: null, source: null, reason })
  const request = await findRequestSpec(db, server.id)
  if (request === undefined) return not('It is being deleted.')
  // A root volume that was lost with the cell is not attached any more.
  const startedFromVolume = request.spec.volumes?.some(({ isRoot }) => isRoot === true)
  if (server.startsFromVolume || startedFromVolume === true)
    return not(await whereItsDiskIs(db, server))
  const own = request.spec.image
  const snapshot = snapshotId === undefined ? undefined : await findImage(db, snapshotId)
  const saved = snapshot && savedImage(snapshot, own)
  if (saved !== undefined) return { server, image: saved, source: 'snapshot', reason: null }
  const image = await findImage(db, own.id)
  if (image === undefined || image.content === null)
    return not(`Its image ${own.id} is gone, and no snapshot of it is there.`)
  return { server, image: own, source: 'image', reason: null }
}
