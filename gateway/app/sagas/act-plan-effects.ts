import type { Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import type { CellId, InstanceId, SagaId } from '#common/ids.ts'
import { readFailure } from '#common/saga/log.ts'
import type { Act, SavingAct } from '#openapi/wire/act.ts'
import { beginBackup, giveUpBackup, type TakenBackup } from '../../db/due-backups.ts'
import { COPY_OF_MOVE } from '../../db/parts-of-moves.ts'
import { findRequestSpec, type RequestSpec, replaceRequestSpec } from '../../db/request-specs.ts'
import { showRebuilt } from '../../db/show-rebuilt.ts'
import type { ComputeDeps } from '../compute.ts'
import { chargeWithinLimits } from '../placement-policies/cell-limits.ts'
import { chargeKept, softDeleteUncharged } from '../quotas/kept-charge.ts'
import { reserveResize, settleResize } from '../quotas/resize-charge.ts'
import type { BuildSpec } from '../servers/boot/build-spec.ts'
import { currentSpec } from '../servers/boot/current-spec.ts'
import { changeableProperties } from '../servers/boot/requested-properties.ts'
import type { SnapshotOrder } from '../servers/boot/server-images.ts'
import { withVolumesOfNow } from '../volumes/build-volumes.ts'
import { refuseElsewhere } from '../volumes/carried.ts'
import { beginReimage, withdrawReimage } from '../volumes/reimage-root.ts'
import type { ActPlan, PlannedAction } from './act-plan.ts'
import { buildRequest } from './build-request.ts'

/** The server and the requester of a plan. */
export interface PlannedAct<P extends ActPlan = ActPlan> {
  readonly serverId: InstanceId
  readonly cellId: CellId
  readonly action: PlannedAction
  readonly userId: string
  readonly projectId: string
  readonly plan: P
}

/** With the first commit: reserves the resources that the plan needs. Throws `over-quota`, and `conflict` for volumes that are moving. */
export async function reservePlan(
  tx: Tx,
  { images, placementPolicies }: ComputeDeps,
  { serverId, cellId, projectId, plan }: PlannedAct,
): Promise<void> {
  if (plan.kind === 'save') {
    if (plan.scheduled !== undefined) await beginScheduled(tx, serverId, plan.order, plan.scheduled)
    await images.reserve(tx, plan.order)
  }
  const grow = (flavorId: string | null, charge: () => Promise<void>) =>
    chargeWithinLimits(tx, placementPolicies, { serverId, cellId, projectId, flavorId }, charge)
  if (plan.kind === 'resize')
    await grow(plan.flavor.id, () => reserveResize(tx, serverId, plan.flavor))
  if (plan.kind === 'restore') await grow(null, () => chargeKept(tx, serverId))
  if (plan.kind === 'unshelve') await refuseElsewhere(tx, serverId, cellId)
  if (plan.kind === 'rebuild' && plan.reimages !== undefined) await beginReimage(tx, plan.reimages)
}

/** So a schedule knows of each backup that has begun, whatever becomes of the gateway. */
async function beginScheduled(
  tx: Tx,
  serverId: string,
  { imageId }: SnapshotOrder,
  scheduled: TakenBackup,
): Promise<void> {
  if (!(await beginBackup(tx, serverId, imageId, scheduled)))
    throw new Failure(
      'conflict',
      `The backup of instance ${serverId} is not due any more: its schedule has changed, or another gateway makes it.`,
    )
}

/** Afterwards nothing is reserved any more: the cell has refused, as the saga says. */
export async function withdrawPlan(
  tx: Tx,
  { images }: ComputeDeps,
  { serverId, plan }: PlannedAct,
  sagaId: SagaId,
): Promise<void> {
  if (plan.kind === 'save') {
    const { imageId } = plan.order
    await images.withdraw(tx, imageId)
    if (plan.scheduled !== undefined) {
      const why = (await readFailure(tx, sagaId))?.message ?? 'The backup did not begin.'
      await giveUpBackup(tx, serverId, imageId, plan.scheduled, why)
    }
  }
  if (plan.kind === 'resize') await settleResize(tx, serverId, plan.previous)
  if (plan.kind === 'restore') await softDeleteUncharged(tx, serverId)
  if (plan.kind === 'rebuild' && plan.reimages !== undefined)
    await withdrawReimage(tx, plan.reimages)
}

/** With the cell's word that it has begun: what the server is from now on. */
export async function settlePlan(tx: Tx, { serverId, plan }: PlannedAct): Promise<void> {
  if (plan.kind === 'rebuild') {
    const now = await findRequestSpec(tx, serverId)
    if (now !== undefined)
      await replace(tx, {
        serverId,
        spec: rebuiltSpec(now.spec, plan),
        sealedUserData: plan.keepsUserData === true ? now.sealedUserData : plan.sealedUserData,
        sealedFiles: plan.sealedFiles ?? null,
        sealedPassword: null,
      })
    await showRebuilt(tx, serverId, plan.shown)
  }
  if (plan.kind === 'resize') {
    // The properties to which a revert returns.
    await changeSpec(tx, serverId, { flavor: plan.previous })
    await showRebuilt(tx, serverId, { diskConfig: plan.diskConfig })
  }
  if (plan.kind === 'keep') await softDeleteUncharged(tx, serverId)
  if (plan.kind === 'unshelve' && plan.zone !== undefined)
    await changeSpec(tx, serverId, { zone: plan.zone })
}

/** With the cell's word that a migration has begun: the flavor that the server has is the one to which a revert returns. */
export async function settleMigration(
  tx: Tx,
  serverId: string,
  flavor: BuildSpec['flavor'],
): Promise<void> {
  await changeSpec(tx, serverId, { flavor })
}

/** Only the properties that the rebuild changes: all others may have been changed since the rebuild began. */
function rebuiltSpec(
  now: BuildSpec,
  { spec, shown }: Pick<Extract<ActPlan, { kind: 'rebuild' }>, 'spec' | 'shown'>,
): BuildSpec {
  const { name = now.name, hostname = now.hostname, metadata = now.metadata } = shown
  const { description, diskConfig, accessIPv4, accessIPv6 } = shown
  const { image, flavor, configDrive, rebuiltAt } = spec
  const keypair = shown.keyName === undefined ? now.keypair : spec.keypair
  const remarks = withCertificatesOf(spec.remarks, now.remarks ?? spec.remarks)
  const noted = Object.entries({ description, diskConfig, accessIPv4, accessIPv6 })
  const changed = Object.fromEntries(noted.filter(([, value]) => value !== undefined))
  return {
    ...now,
    ...{ name, hostname, metadata, image, flavor, keypair, configDrive },
    ...(rebuiltAt !== undefined && { rebuiltAt }),
    ...(remarks === undefined ? {} : { remarks: { ...remarks, ...changed } }),
  }
}

/** Nothing but a rebuild changes them. */
function withCertificatesOf(rebuilt: BuildSpec['remarks'], remarks: BuildSpec['remarks']) {
  if (remarks === undefined) return undefined
  const { trustedCertificates: _before, ...others } = remarks
  const { trustedCertificates } = rebuilt ?? {}
  return { ...others, ...(trustedCertificates && { trustedCertificates }) }
}

async function changeSpec(tx: Tx, serverId: string, change: Partial<BuildSpec>): Promise<void> {
  const request = await findRequestSpec(tx, serverId)
  if (request === undefined) return
  await replace(tx, { ...request, spec: { ...request.spec, ...change } })
}

function replace(tx: Tx, request: RequestSpec): Promise<void> {
  return replaceRequestSpec(tx, request, changeableProperties(request.spec))
}

/** The act as the cell gets it. Throws `conflict` when the server was deleted meanwhile. */
export async function plannedAct(deps: ComputeDeps, planned: PlannedAct): Promise<Act> {
  const { serverId, cellId, plan } = planned
  if (plan.kind === 'save') {
    const { imageId, purpose, changesOf, backupSince, mayStayAtHost } = plan.order
    const ticket = deps.images.fillTicket(imageId, cellId)
    const target = { imageId, ticket, ...(mayStayAtHost && { mayKeep: true as const }) }
    if (planned.action === 'shelve')
      return { name: 'shelve', target, ...(changesOf !== undefined && { changesOf }) }
    const name = planned.action as Exclude<SavingAct, 'shelve'>
    return {
      ...{ name, target },
      ...(purpose === COPY_OF_MOVE && { notesChanges: true as const }),
      ...(backupSince !== undefined && { backupSince }),
    }
  }
  if (plan.kind === 'rebuild') {
    const { sealedUserData, sealedFiles, sealedPassword, keepsEphemeral, reimages } = plan
    const nics = [...(await deps.network.nicsOf(deps.db, serverId))]
    const spec = { ...(await withVolumesOfNow(deps.db, serverId, plan.spec)), nics }
    const request = { serverId, spec, sealedUserData, sealedFiles, sealedPassword }
    const build = buildRequest(deps, request, cellId)
    const root = reimages !== undefined && { reimages: true as const }
    return { name: 'rebuild', build, keepsEphemeral, ...root }
  }
  if (plan.kind === 'keep') return { name: 'soft-delete' }
  if (plan.kind === 'restore') return { name: 'restore' }
  const request = await findRequestSpec(deps.db, serverId)
  if (request === undefined) throw new Failure('conflict', `Instance ${serverId} is being deleted.`)
  const spec = await currentSpec(deps, deps.db, serverId, request.spec)
  const build = (change: Partial<BuildSpec>) => changed(deps, { ...request, spec }, change, cellId)
  switch (plan.kind) {
    case 'resize': {
      const { flavor, previous } = plan
      const { userId, projectId } = planned
      return { name: 'resize', build: build({ flavor }), previous, userId, projectId }
    }
    case 'revert':
      return { name: 'revert-resize', build: build({}) }
    case 'unshelve': {
      const { flavor, image, zone, host } = plan
      const place = zone === undefined ? {} : { zone }
      return {
        name: 'unshelve',
        build: build({ flavor, image, requestedHost: host, ...place }),
      }
    }
  }
}

/** Without its first password, which it has long had. */
function changed(
  deps: ComputeDeps,
  request: RequestSpec,
  change: Partial<BuildSpec>,
  cellId: CellId,
) {
  const spec = { ...request.spec, ...change }
  return buildRequest(deps, { ...request, spec, sealedPassword: null }, cellId)
}
