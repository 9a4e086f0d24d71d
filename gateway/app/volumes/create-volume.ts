import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { type IdempotencyKey, takeIdempotencyKey } from '../../db/idempotency-keys.ts'
import { queueTraces } from '../../db/traces.ts'
import { lockType, lockTypeAs } from '../../db/volume-types.ts'
import { findVolume, insertVolume, type NewVolume } from '../../db/volumes.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { createVolumeSaga, placeVolume, VOLUME_ROUNDS_MAX } from '../sagas/create-volume.ts'
import { describeVolume, type NewVolumeRequest, type VolumeDeps } from './describe-volume.ts'
import { addFailureMessage, failedOn } from './messages.ts'
import { chargeVolumes } from './quotas.ts'
import { typeNotFound } from './types.ts'
import type { Volume } from './volume.ts'

/**
 * Afterwards the volume is promised, and its quota charged: one commit holds all that is known of it. Where no cell can
 * take it, it is in error, as in Cinder. A repeat under the same key returns the first volume. Throws `over-quota`, and
 * what `placeVolume` and `describeVolume` do.
 */
export async function createVolume(
  deps: VolumeDeps,
  context: RequestContext,
  request: NewVolumeRequest,
  key: IdempotencyKey | null,
): Promise<Volume> {
  const { projectId } = context
  if (projectId === null)
    throw new Failure('forbidden', 'This request needs a token that is scoped to a project.')
  const { db } = deps.compute
  const first = await findEarlierResult<{ readonly volumeId: string }>(db, key)
  const id =
    first === undefined
      ? await accept(deps, { ...context, projectId }, request, key)
      : first.volumeId
  const volume = await findVolume(db, id)
  if (volume === undefined) throw new Failure('not-found', `Volume ${id} was deleted meanwhile.`)
  return volume
}

async function accept(
  deps: VolumeDeps,
  context: RequestContext & { readonly projectId: string },
  request: NewVolumeRequest,
  key: IdempotencyKey | null,
): Promise<string> {
  const { compute } = deps
  const { row: described, only, stores } = await describeVolume(deps, context, request)
  const wanted = { ...described, only, stores, tried: [] }
  const choice = placeVolume(compute, wanted)
  const id = newId<VolumeId>()
  const { chosen } = choice
  const row: Omit<NewVolume, 'sagaId'> = {
    ...described,
    id,
    cellId: chosen?.id ?? null,
    status: chosen === undefined ? 'error' : 'creating',
    fault: choice.chosen === undefined ? `No cell can take it: ${choice.reason}.` : null,
  }
  const record = async (tx: Tx, sagaId: SagaId | null): Promise<void> => {
    if (key !== null) await takeIdempotencyKey(tx, key, { volumeId: id })
    await recordVolume(tx, { ...row, sagaId })
    queueTraces(tx, [{ serverId: id, attempt: 1, trace: choice.trace }])
  }
  const charge = (tx: Tx) => chargeVolumes(tx, row, { volumes: 1, gigabytes: row.sizeGb })
  if (chosen === undefined) {
    await compute.db.transaction(async (tx) => {
      await record(tx, null)
      await charge(tx)
      await addFailureMessage(tx, 'placing', failedOn({ ...context, id }, context))
    })
    return id
  }
  const sagaId = newId<SagaId>()
  const operationIds = Array.from({ length: VOLUME_ROUNDS_MAX }, () => newId<string>())
  await compute.sagas.start(createVolumeSaga, {
    id: sagaId,
    subject: id,
    params: { volumeId: id, cellId: chosen.id, operationIds, ...(stores && { stores }) },
    work: context,
    before: (tx) => record(tx, sagaId),
    after: charge,
  })
  return id
}

/** Afterwards the volume's row is there. Throws `not-found` for a type that was deleted meanwhile, and `conflict` for one that encrypts otherwise now. */
export async function recordVolume(tx: Tx, row: NewVolume): Promise<void> {
  const { typeId, encryption } = row
  if (typeId !== null && !(await lockTypeAs(tx, typeId, encryption !== null))) {
    if (!(await lockType(tx, typeId))) throw typeNotFound(typeId)
    throw new Failure(
      'conflict',
      `Volume type ${typeId} has just begun or ceased to encrypt volumes. Try again.`,
    )
  }
  await insertVolume(tx, row)
}
