import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { newId, type SagaId, type VolumeId } from '#common/ids.ts'
import { type IdempotencyKey, takeIdempotencyKey } from '../../db/idempotency-keys.ts'
import { lockType } from '../../db/volume-types.ts'
import { findVolume, insertVolume, type NewVolume } from '../../db/volumes.ts'
import type { Compute } from '../compute.ts'
import type { Images } from '../images/images.ts'
import { findEarlierResult } from '../once-per-key.ts'
import type { RequestContext } from '../request-context.ts'
import { createVolumeSaga, VOLUME_ROUNDS_MAX } from '../sagas/create-volume.ts'
import { chooseVolumeCell } from './choose-cell.ts'
import { defaultType } from './default-types.ts'
import { chargeVolumes, refuseLargeVolume } from './quotas.ts'
import { typeNamed, typeNotFound } from './types.ts'
import type { Volume } from './volume.ts'
import { findSource, refuseUnlike, type WantedSource } from './volume-source.ts'

/** The services that a new volume needs. */
export interface VolumeDeps {
  readonly compute: Compute
  /** Where the content of images is. */
  readonly images: Images
}

/** What a user asks for. */
export interface NewVolumeRequest
  extends Pick<NewVolume, 'name' | 'description' | 'metadata' | 'zone'> {
  /** Null: that of its source. */
  readonly sizeGb: number | null
  /** The id or the name of its type; null: that of its source, or the default of the project or of the cloud. */
  readonly type: string | null
  /** Null: it begins empty. */
  readonly source: WantedSource | null
}

/**
 * Afterwards the volume is promised, and its quota charged: one commit holds all that is known of it. Where no cell can
 * take it, it is in error, as in Cinder. A repeat under the same key returns the first volume. Throws `over-quota`,
 * `invalid` for a zone that no cell has, an image that cannot be read and for what its source does not allow, `not-found` for a type or a source.
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
  const { type: _type, source: _source, ...named } = request
  const { compute } = deps
  const { db } = compute
  const { found, type, sizeGb, zone } = await settleRequest(deps, context, request)
  const specs = type?.extraSpecs ?? {}
  await refuseLargeVolume(db, context.projectId, sizeGb)
  refuseUnknownZone(compute, zone)
  const only = found?.cellId ?? null
  const choice = chooseVolumeCell(compute.cells.cells(), { sizeGb, zone, specs, only, tried: [] })
  const id = newId<VolumeId>()
  const { chosen } = choice
  const row: Omit<NewVolume, 'sagaId'> = {
    ...named,
    id,
    projectId: context.projectId,
    userId: context.userId,
    typeId: type?.id ?? null,
    specs,
    zone,
    sizeGb,
    isBootable: found?.isBootable ?? false,
    source: found?.source ?? null,
    imageMetadata: found?.imageMetadata ?? null,
    isMultiattach: specs['multiattach'] === '<is> True',
    cellId: chosen?.id ?? null,
    status: chosen === undefined ? 'error' : 'creating',
    fault: choice.chosen === undefined ? `No cell can take it: ${choice.reason}.` : null,
  }
  const record = async (tx: Tx, sagaId: SagaId | null): Promise<void> => {
    if (key !== null) await takeIdempotencyKey(tx, key, { volumeId: id })
    if (type !== null && !(await lockType(tx, type.id))) throw typeNotFound(type.id)
    await insertVolume(tx, { ...row, sagaId })
  }
  const charge = (tx: Tx) => chargeVolumes(tx, row, { volumes: 1, gigabytes: sizeGb })
  if (chosen === undefined) {
    await compute.db.transaction(async (tx) => {
      await record(tx, null)
      await charge(tx)
    })
    return id
  }
  const sagaId = newId<SagaId>()
  const operationIds = Array.from({ length: VOLUME_ROUNDS_MAX }, () => newId<string>())
  await compute.sagas.start(createVolumeSaga, {
    id: sagaId,
    subject: id,
    params: { volumeId: id, cellId: chosen.id, operationIds },
    work: context,
    before: (tx) => record(tx, sagaId),
    after: charge,
  })
  return id
}

/** What the request leaves to its source, and to defaults. */
async function settleRequest(
  deps: VolumeDeps,
  context: RequestContext,
  { type: named, sizeGb: asked, zone, source }: NewVolumeRequest,
) {
  const { db } = deps.compute
  const found = source === null ? null : await findSource(deps, context, source, asked)
  const like = found?.like ?? null
  const wanted = named === null ? undefined : await typeNamed(db, context, named)
  const type = wanted ?? (like === null ? ((await defaultType(db, context)) ?? null) : like.type)
  const sizeGb = asked ?? like?.sizeGb
  if (sizeGb === undefined)
    throw new Failure(
      'invalid',
      "Invalid input received: Volume size 'None' must be an integer and greater than 0",
    )
  if (like !== null) refuseUnlike(like, { sizeGb, zone, type })
  return { found, type, sizeGb, zone: zone ?? like?.zone ?? null }
}

function refuseUnknownZone({ cells }: Compute, zone: string | null): void {
  if (zone === null) return
  const zones = new Set(cells.cells().flatMap(({ summary }) => summary?.zones ?? []))
  if (!zones.has(zone)) throw new Failure('invalid', `Availability zone '${zone}' is invalid.`)
}
