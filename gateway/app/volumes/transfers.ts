import { createHash, randomBytes, timingSafeEqual } from 'node:crypto'
import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId, type VolumeId } from '#common/ids.ts'
import { giveSnapshot, lockSnapshotsOf } from '../../db/volume-snapshots.ts'
import {
  findTransfer,
  insertTransfer,
  listTransferRows,
  removeTransfer,
  type VolumeTransfer,
} from '../../db/volume-transfers.ts'
import { findVolume, giveVolume, lockVolume, writeLockedVolume } from '../../db/volumes.ts'
import type { ComputeDeps } from '../compute.ts'
import type { RequestContext } from '../request-context.ts'
import { type PageQuery, type ProjectsPage, pageOf } from './list-query.ts'
import { chargeVolumes, refundVolumes, refuseLargeVolume, type VolumeAmounts } from './quotas.ts'
import type { Volume } from './volume.ts'
import { showVolume } from './volumes.ts'

type Deps = Pick<ComputeDeps, 'db'>
type Sight = Pick<RequestContext, 'projectId' | 'isAdmin'>

/** As many characters as those of Cinder have. */
const KEY_BYTES = 8

/** A new transfer, with the key that its receiver has to name: it is shown this once. */
export type NewTransfer = VolumeTransfer & { readonly authKey: string }

export interface TransferRequest {
  readonly volumeId: string
  readonly name: string | null
  readonly takesSnapshots: boolean
  /** Also an encrypted volume. */
  readonly mayBeEncrypted: boolean
}

/**
 * Afterwards the volume is offered to the project that has the key, and is used for nothing else meanwhile. Throws
 * `not-found`, and `invalid` for a volume that is not available, or with a snapshot to be taken that is not.
 */
export async function createTransfer(
  deps: Deps,
  context: RequestContext,
  { volumeId, name, takesSnapshots, mayBeEncrypted }: TransferRequest,
): Promise<NewTransfer> {
  const { id: ofVolume } = await showVolume(deps, context, volumeId)
  const id = newId<string>()
  const authKey = randomBytes(KEY_BYTES).toString('hex')
  return deps.db.transaction(async (tx) => {
    const volume = await lockVolume(tx, ofVolume)
    if (volume?.status !== 'available' || volume.isDeleting)
      throw new Failure(
        'invalid',
        `Invalid volume: Volume ${ofVolume} status must be available to transfer it, but is '${volume?.status ?? 'deleted'}'.`,
      )
    // The sentence is Cinder's.
    if (volume.encryption !== null && !mayBeEncrypted)
      throw new Failure('invalid', 'Invalid volume: transferring encrypted volume is not supported')
    if (takesSnapshots) await refuseUnready(tx, ofVolume)
    await writeLockedVolume(tx, ofVolume, { status: 'awaiting-transfer' }, { isIntent: true })
    const of = { volumeId: ofVolume, projectId: volume.projectId, name, takesSnapshots }
    await insertTransfer(tx, { ...of, id, keyHash: hashOf(id, authKey) })
    return { ...(await findTransfer(tx, id))!, authKey }
  })
}

/** The sentence is Cinder's (cinder/transfer/api.py). */
async function refuseUnready(tx: Tx, volumeId: VolumeId): Promise<void> {
  for (const { id, status } of await lockSnapshotsOf(tx, volumeId))
    if (status !== 'available')
      throw new Failure(
        'invalid',
        `Invalid snapshot: snapshot: ${id} status must be "available", but is '${status}'.`,
      )
}

/** The transfer. Throws `not-found` when there is none that the requester offers. */
export async function showTransfer(
  { db }: Deps,
  { projectId, isAdmin }: Sight,
  id: string,
): Promise<VolumeTransfer> {
  const transfer = await findTransfer(db, id.toLowerCase())
  if (transfer !== undefined && (isAdmin || transfer.projectId === projectId)) return transfer
  throw transferNotFound(id)
}

function transferNotFound(id: string): Failure {
  return new Failure('not-found', `Transfer ${id} could not be found.`)
}

/** What a list asks for. Throws as `pageOf`. */
export function transferQuery(query: PageQuery, limit: number): ProjectsPage {
  const sortKeys = ['created_at', 'id', 'name', 'volume_id']
  return pageOf(query, { limit, sortKeys, equal: {} })
}

/** A page of the transfers that the requester's project offers, or all projects. */
export function listTransfers(
  { db }: Deps,
  { projectId, isAdmin }: Sight,
  { allTenants, ...page }: ProjectsPage,
): Promise<readonly VolumeTransfer[]> {
  return listTransferRows(db, allTenants && isAdmin ? null : (projectId ?? ''), page)
}

/** Afterwards the volume is not offered any more. Throws `not-found`. */
export async function deleteTransfer(deps: Deps, context: Sight, id: string): Promise<void> {
  const transfer = await showTransfer(deps, context, id)
  await deps.db.transaction(async (tx) => {
    const volume = await lockVolume(tx, transfer.volumeId)
    if (!(await removeTransfer(tx, transfer.id))) throw transferNotFound(id)
    if (volume?.status === 'awaiting-transfer')
      await writeLockedVolume(tx, volume.id, { status: 'available' }, { isIntent: false })
  })
}

/**
 * Afterwards the volume belongs to the requester's project and counts in its quota, as do its snapshots where they go
 * with it. Throws `not-found`, `invalid` for another key and for a volume that is not offered any more, and `over-quota`.
 */
export async function acceptTransfer(
  { db }: Deps,
  { projectId, userId }: RequestContext,
  id: string,
  authKey: string,
): Promise<VolumeTransfer> {
  const transfer = await findTransfer(db, id.toLowerCase())
  if (transfer === undefined) throw transferNotFound(id)
  if (!isKeyOf(transfer, authKey))
    throw new Failure(
      'invalid',
      `Invalid auth key: Attempt to transfer ${id} with invalid auth key.`,
    )
  if (projectId === null)
    throw new Failure('forbidden', 'This request needs a token that is scoped to a project.')
  const owner = { projectId, userId }
  const offered = await findVolume(db, transfer.volumeId)
  if (offered !== undefined) await refuseLargeVolume(db, owner.projectId, offered.sizeGb)
  await db.transaction(async (tx) => {
    const volume = await lockVolume(tx, transfer.volumeId)
    if (!(await removeTransfer(tx, transfer.id))) throw transferNotFound(id)
    if (volume?.status !== 'awaiting-transfer' || volume.isDeleting)
      throw new Failure(
        'invalid',
        `Invalid volume: Volume ${transfer.volumeId} status must be awaiting-transfer, but is '${volume?.status ?? 'deleted'}'. Ask its project for another transfer.`,
      )
    await give(tx, volume, transfer, owner)
  })
  return transfer
}

/** Afterwards the locked volume is the owner's, in the quotas of both projects as well. */
async function give(
  tx: Tx,
  volume: Volume,
  { takesSnapshots }: VolumeTransfer,
  owner: Pick<Volume, 'projectId' | 'userId'>,
): Promise<void> {
  const snapshots = takesSnapshots ? await lockSnapshotsOf(tx, volume.id) : []
  await giveVolume(tx, volume, owner)
  for (const snapshot of snapshots) await giveSnapshot(tx, snapshot, owner)
  const ofVolume = { volumes: 1, gigabytes: volume.chargedGb }
  const given: readonly (readonly [Pick<Volume, 'projectId' | 'typeId'>, VolumeAmounts])[] = [
    [volume, ofVolume],
    ...snapshots.map((each) => [each, { snapshots: 1, gigabytes: each.sizeGb }] as const),
  ]
  for (const [{ typeId }, amounts] of given)
    await chargeVolumes(tx, { projectId: owner.projectId, typeId }, amounts)
  for (const [giver, amounts] of given) refundVolumes(tx, giver, amounts)
}

function hashOf(id: string, authKey: string): string {
  return createHash('sha256').update(`${id} ${authKey}`).digest('hex')
}

function isKeyOf({ id, keyHash }: VolumeTransfer, authKey: string): boolean {
  return timingSafeEqual(Buffer.from(hashOf(id, authKey)), Buffer.from(keyHash))
}
