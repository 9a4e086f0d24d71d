import type { ProjectQuota, ResourceQuota } from '../../app/federation/project-quota.ts'

/** The quota of a project as the federation API shows it. */
export function projectQuotaView({ projectId, name, resources }: ProjectQuota) {
  return { project_id: projectId, project: name, resources: resources.map(resourceQuotaView) }
}

/** A limit may have been set below what is used; nothing is left then. */
function resourceQuotaView(quota: ResourceQuota) {
  const { limit, used } = quota
  return { ...quota, left: limit === null ? null : Math.max(0, limit - used) }
}
