import type { operations } from '#openapi/volume.gen.ts'
import { isAllowed } from '../../app/policy.ts'
import {
  type ByQuotaName,
  type QuotaSet,
  type QuotaState,
  resetQuotaSet,
  showQuotaSet as show,
  showQuotaClassSet as showClass,
  showDefaultQuotaSet,
  updateQuotaSet as update,
  updateQuotaClassSet as updateClass,
} from '../../app/volumes/quota-sets.ts'
import type { Handler } from '../../http/operation.ts'

const deleteQuotaSet: Handler<operations['deleteQuotaSet']> = async ({ app, params }) => {
  await resetQuotaSet(app.db, params.project_id)
  return {}
}

const showLimits: Handler<operations['showLimits']> = async ({ app, context, query }) => {
  const other = context.isAdmin ? (query.project_id ?? query.tenant_id) : undefined
  const set = await show(app.db, context, other ?? context.projectId ?? '')
  const showsUse = isAllowed(context, 'limits_extension:used_limits')
  return { body: { limits: { rate: [], absolute: absoluteLimitsView(set, showsUse) } } }
}

const showQuotaClassSet: Handler<operations['showQuotaClassSet']> = async ({ app, params }) => {
  const set = await showClass(app.db, params.quota_class)
  return { body: { quota_class_set: { id: params.quota_class, ...limitsOf(set) } } }
}

const showQuotaSet: Handler<operations['showQuotaSet']> = async (call) => {
  const { app, context, params, query } = call
  const set = await show(app.db, context, params.project_id)
  const shown = query.usage === true ? usageOf(set) : limitsOf(set)
  return { body: { quota_set: { id: params.project_id, ...shown } } }
}

const showQuotaSetDefaults: Handler<operations['showQuotaSetDefaults']> = async (call) => {
  const { app, context, params } = call
  const set = await showDefaultQuotaSet(app.db, context, params.project_id)
  return { body: { quota_set: { id: params.project_id, ...limitsOf(set) } } }
}

const updateQuotaClassSet: Handler<operations['updateQuotaClassSet']> = async (call) => {
  const { app, params, body } = call
  const set = await updateClass(app.db, params.quota_class, body.quota_class_set)
  return { body: { quota_class_set: limitsOf(set) } }
}

const updateQuotaSet: Handler<operations['updateQuotaSet']> = async (call) => {
  const { app, context, params, body } = call
  // Old clients name the project again.
  const { id: _id, tenant_id: _tenant, ...limits } = body.quota_set
  const set = await update(app.db, context, params.project_id, limits as Record<string, number>)
  return { body: { quota_set: limitsOf(set) } }
}

export const quotaHandlers = {
  deleteQuotaSet,
  showLimits,
  showQuotaClassSet,
  showQuotaSet,
  showQuotaSetDefaults,
  updateQuotaClassSet,
  updateQuotaSet,
}

function limitsOf(set: QuotaSet) {
  return valuesOf(set, ({ limit }) => limit)
}

/** Limits and use. Nothing is ever reserved: use is counted when a request is accepted. */
function usageOf(set: QuotaSet) {
  return valuesOf(set, ({ limit, used }) => ({ limit, in_use: used, reserved: 0 }))
}

function valuesOf<T>(set: QuotaSet, of: (state: QuotaState) => T): ByQuotaName<T> {
  const values = Object.entries(set).map(([name, state]) => [name, of(state)] as const)
  return Object.fromEntries(values) as ByQuotaName<T>
}

function absoluteLimitsView(set: QuotaSet, showsUse: boolean) {
  return {
    maxTotalVolumes: set.volumes.limit,
    maxTotalSnapshots: set.snapshots.limit,
    maxTotalVolumeGigabytes: set.gigabytes.limit,
    maxTotalBackups: set.backups.limit,
    maxTotalBackupGigabytes: set.backup_gigabytes.limit,
    ...(showsUse && {
      totalVolumesUsed: set.volumes.used,
      totalSnapshotsUsed: set.snapshots.used,
      totalGigabytesUsed: set.gigabytes.used,
      totalBackupsUsed: set.backups.used,
      totalBackupGigabytesUsed: set.backup_gigabytes.used,
    }),
  }
}
