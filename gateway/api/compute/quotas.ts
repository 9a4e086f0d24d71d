import type { operations } from '#openapi/compute.gen.ts'
import { refuseUnknownProject } from '../../app/identity/refuse-unknown-project.ts'
import { enforce } from '../../app/policy.ts'
import {
  defaultLimits,
  limitsShown,
  quotaClassLimits,
  quotaLimits,
} from '../../app/quotas/quota-limits.ts'
import { checkQuotaProject } from '../../app/quotas/quota-project.ts'
import { type QuotaUsage, quotaUsage } from '../../app/quotas/quota-usage.ts'
import { resetQuota } from '../../app/quotas/reset-quota.ts'
import {
  QUOTA_RESOURCES,
  type QuotaLimits,
  type QuotaResource,
} from '../../app/quotas/resources.ts'
import { updateQuota } from '../../app/quotas/update-quota.ts'
import { updateQuotaClass } from '../../app/quotas/update-quota-class.ts'
import type { Handler } from '../../http/operation.ts'

const deleteQuotaSet: Handler<operations['deleteQuotaSet']> = async (call) => {
  const { app, params, query } = call
  await resetQuota(app.db, params.project_id, query.user_id)
  return {}
}

const showLimits: Handler<operations['showLimits']> = async (call) => {
  const { app, context, query } = call
  const projectId = query.tenant_id ?? context.projectId ?? ''
  if (projectId !== context.projectId) enforce(context, 'os_compute_api:limits:other_project')
  const limits = await quotaLimits(app.db, projectId)
  const usage = await quotaUsage(app.db, projectId)
  return { body: { limits: { rate: [], absolute: absoluteLimitsView(limits, usage) } } }
}

const showQuotaClassSet: Handler<operations['showQuotaClassSet']> = async (call) => {
  const { app, params } = call
  const limits = await quotaClassLimits(app.db, params.quota_class)
  return { body: { quota_class_set: { id: params.quota_class, ...limits } } }
}

const showQuotaSet: Handler<operations['showQuotaSet']> = async (call) => {
  const { app, context, params, query } = call
  await checkQuotaProject(app.db, context, params.project_id)
  const limits = await limitsShown(app.db, params.project_id, query.user_id)
  return { body: { quota_set: { id: params.project_id, ...limits } } }
}

const showQuotaSetDefaults: Handler<operations['showQuotaSetDefaults']> = async (call) => {
  const { app, context, params } = call
  await refuseUnknownProject(app.db, context, params.project_id)
  const limits = await defaultLimits(app.db)
  return { body: { quota_set: { id: params.project_id, ...limits } } }
}

const showQuotaSetDetail: Handler<operations['showQuotaSetDetail']> = async (call) => {
  const { app, context, params, query } = call
  await checkQuotaProject(app.db, context, params.project_id)
  const limits = await limitsShown(app.db, params.project_id, query.user_id)
  const usage = await quotaUsage(app.db, params.project_id, query.user_id)
  return { body: { quota_set: quotaDetailView(params.project_id, limits, usage) } }
}

const updateQuotaClassSet: Handler<operations['updateQuotaClassSet']> = async (call) => {
  const { app, params, body } = call
  const limits = await updateQuotaClass(app.db, params.quota_class, body.quota_class_set)
  return { body: { quota_class_set: limits } }
}

const updateQuotaSet: Handler<operations['updateQuotaSet']> = async (call) => {
  const { app, context, params, body, query } = call
  const { force: isForced = false, ...limits } = body.quota_set
  const change = { userId: query.user_id, limits, isForced }
  const changed = await updateQuota(app.db, context, params.project_id, change)
  return { body: { quota_set: changed } }
}

export const quotaHandlers = {
  deleteQuotaSet,
  showLimits,
  showQuotaClassSet,
  showQuotaSet,
  showQuotaSetDefaults,
  showQuotaSetDetail,
  updateQuotaClassSet,
  updateQuotaSet,
}

interface LimitAndUse {
  readonly limit: number
  readonly in_use: number
  readonly reserved: number
}

/** Limits with the use of them. Nothing is ever reserved: use is counted when a request is accepted. */
function quotaDetailView(projectId: string, limits: QuotaLimits, usage: QuotaUsage) {
  const entries = QUOTA_RESOURCES.map(
    (resource) =>
      [resource, { limit: limits[resource], in_use: usage[resource], reserved: 0 }] as const,
  )
  const byResource = Object.fromEntries(entries) as Record<QuotaResource, LimitAndUse>
  return { id: projectId, ...byResource }
}

/** `absolute` of the limits, at its widest. */
function absoluteLimitsView(limits: QuotaLimits, usage: QuotaUsage) {
  return {
    maxTotalInstances: limits.instances,
    maxTotalCores: limits.cores,
    maxTotalRAMSize: limits.ram,
    maxTotalKeypairs: limits.key_pairs,
    maxServerMeta: limits.metadata_items,
    maxServerGroups: limits.server_groups,
    maxServerGroupMembers: limits.server_group_members,
    maxImageMeta: limits.metadata_items,
    maxPersonality: limits.injected_files,
    maxPersonalitySize: limits.injected_file_content_bytes,
    maxSecurityGroups: limits.security_groups,
    maxSecurityGroupRules: limits.security_group_rules,
    maxTotalFloatingIps: limits.floating_ips,
    totalInstancesUsed: usage.instances,
    totalCoresUsed: usage.cores,
    totalRAMUsed: usage.ram,
    totalServerGroupsUsed: usage.server_groups,
    totalFloatingIpsUsed: usage.floating_ips,
    totalSecurityGroupsUsed: usage.security_groups,
  }
}
