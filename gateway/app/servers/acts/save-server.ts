import { Failure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { SavingAct } from '#openapi/wire/act.ts'
import type { TakenBackup } from '../../../db/due-backups.ts'
import { COPY_OF_MOVE } from '../../../db/parts-of-moves.ts'
import { findRequestSpec } from '../../../db/request-specs.ts'
import type { Compute } from '../../compute.ts'
import type { RequestContext } from '../../request-context.ts'
import type { VolumeDeps } from '../../volumes/describe-volume.ts'
import type { SnapshotOrder } from '../boot/server-images.ts'
import { limitMetadata } from '../edit/limit-metadata.ts'
import type { ServerRecord } from '../list/server-record.ts'
import { showServer } from '../list/show-server.ts'
import { actOnServer } from './act-on-server.ts'
import { refuseAction, startsFromVolume } from './refuse-action.ts'
import { saveVolumes } from './save-volumes.ts'

export interface ImageRequest {
  readonly name: string
  /** The properties of the new image. */
  readonly metadata: Readonly<Record<string, string>>
}

export interface BackupRequest extends ImageRequest {
  /** Backups of one type are counted together. */
  readonly type: string
  /** How many of them are kept once this one is there. */
  readonly rotation: number
  /** The backup before, in a row of backups that carry only changes; null: the first; absent: it is in no row. */
  readonly since?: string | null
  /** Of one that a schedule has made due: the schedule knows it from its first commit on. */
  readonly scheduled?: TakenBackup
}

/** Properties that tell of the image itself, and would not be true of a copy (Nova: `non_inheritable_image_properties`). */
const NOT_INHERITED: ReadonlySet<string> = new Set([
  'cache_in_nova',
  'bittorrent',
  'img_signature_hash_method',
  'img_signature',
  'img_signature_key_type',
  'img_signature_certificate_uuid',
])

/**
 * Afterwards the server's cell has accepted to fill a new image with its disk; the image of a server that starts from a
 * volume names snapshots of its volumes instead. Returns the image's id. Throws as `actOnServer`, and `over-quota` for too
 * many properties, images or snapshots.
 */
export async function saveServer(
  deps: VolumeDeps,
  context: RequestContext,
  id: string,
  request: ImageRequest,
): Promise<string> {
  const { compute } = deps
  const server = await showServer(compute.db, context, id)
  const wanted = { ...request, purpose: 'image' } as const
  if (!startsFromVolume(server)) return save(compute, context, id, 'create-image', wanted)
  refuseAction(server, context, 'create-image')
  const owner = context.projectId ?? server.projectId
  await limitMetadata(compute.db, { projectId: owner, userId: context.userId }, request.metadata)
  const order = await orderOf(compute, context, server, { ...wanted, owner })
  await saveVolumes(deps, context, server, order)
  return order.imageId
}

/** The same for a backup: older ones of the type beyond the rotation go when it is there. */
export function backUpServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { type, rotation, since, scheduled, ...request }: BackupRequest,
): Promise<string> {
  const backup = {
    ...({ purpose: 'backup', backupType: type, backupsKept: rotation } as const),
    ...(since !== undefined && { backupSince: since }),
    ...(scheduled !== undefined && { scheduled }),
  }
  return save(compute, context, id, 'create-backup', { ...request, ...backup })
}

/**
 * Afterwards the server's cell has accepted to stop it and to save its disk, from which it can be brought back, or only
 * what has changed since the image `changesOf`. One that starts from a volume has its disk there, and no image is made.
 * `isMoving`: it is to go to another cell, so its host may keep what it has saved.
 */
export async function shelveServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  { changesOf, isMoving }: { readonly changesOf?: string; readonly isMoving?: boolean } = {},
): Promise<void> {
  const server = await showServer(compute.db, context, id)
  if (startsFromVolume(server)) {
    refuseAction(server, context, 'shelve')
    return actOnServer(compute, context, id, { name: 'shelve' })
  }
  const wanted = { name: `${server.name}-shelved`, metadata: {}, purpose: 'shelve' } as const
  await save(compute, context, id, 'shelve', {
    ...wanted,
    ...(changesOf !== undefined && { changesOf }),
    ...(isMoving === true && { mayStayAtHost: true }),
  })
}

/**
 * Afterwards the server's cell has accepted to copy its disk to a new image of that id while it runs, and its host notes
 * what it writes from then on, so that `shelveServer` has only that to save. Throws as `actOnServer`.
 */
export async function copyServer(
  compute: Compute,
  context: RequestContext,
  id: string,
  imageId: string,
): Promise<void> {
  const { name } = await showServer(compute.db, context, id)
  const wanted = { name: `${name}-moving`, metadata: {}, purpose: COPY_OF_MOVE, imageId } as const
  await save(compute, context, id, 'create-image', { ...wanted, mayStayAtHost: true })
}

interface Wanted
  extends ImageRequest,
    Pick<SnapshotOrder, 'purpose' | 'changesOf' | 'backupSince' | 'mayStayAtHost'> {
  /** Absent: a new one. */
  readonly imageId?: string
  readonly backupType?: string
  readonly backupsKept?: number
  readonly scheduled?: TakenBackup
}

async function save(
  compute: Compute,
  context: RequestContext,
  id: string,
  action: SavingAct,
  wanted: Wanted,
): Promise<string> {
  const server = await showServer(compute.db, context, id)
  refuseAction(server, context, action)
  const owner = context.projectId ?? server.projectId
  await limitMetadata(compute.db, { projectId: owner, userId: context.userId }, wanted.metadata)
  const order = await orderOf(compute, context, server, { ...wanted, owner })
  const { scheduled } = wanted
  const plan = { kind: 'save', order, ...(scheduled !== undefined && { scheduled }) } as const
  await actOnServer(compute, context, id, { name: action, plan })
  return order.imageId
}

/** The image as Nova describes it (nova/compute/utils.py, `create_image`). */
async function orderOf(
  { db }: Compute,
  { userId }: RequestContext,
  server: ServerRecord,
  wanted: Wanted & { readonly owner: string },
): Promise<SnapshotOrder> {
  const { purpose, name, metadata, backupType, backupsKept, owner } = wanted
  const { changesOf, backupSince, mayStayAtHost } = wanted
  const request = await findRequestSpec(db, server.id)
  if (request === undefined)
    throw new Failure('not-found', `Instance ${server.id} could not be found.`)
  const { image } = request.spec
  const inherited = Object.entries(image.properties).filter(([key]) => !NOT_INHERITED.has(key))
  const base = server.imageId === null ? {} : { base_image_ref: server.imageId }
  const backup = backupType === undefined ? {} : { backup_type: backupType }
  return {
    imageId: wanted.imageId ?? newId<string>(),
    sourceId: server.id,
    purpose,
    ...(changesOf !== undefined && { changesOf }),
    ...(backupSince !== undefined && { backupSince }),
    ...(mayStayAtHost && { mayStayAtHost }),
    backupsKept: backupsKept ?? null,
    owner,
    name,
    minDiskGb: Math.max(image.minDiskGb, server.flavor.rootGb),
    minRamMb: image.minRamMb,
    properties: {
      ...Object.fromEntries(inherited),
      ...base,
      instance_uuid: server.id,
      user_id: userId,
      image_type: purpose === 'backup' ? 'backup' : 'snapshot',
      ...backup,
      ...metadata,
    },
  }
}
