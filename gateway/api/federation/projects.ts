import type { operations } from '#openapi/federation.gen.ts'
import {
  type ProjectQuota,
  projectQuota,
  type ResourceQuota,
} from '../../app/federation/project-quota.ts'
import type { Handler } from '../../http/operation.ts'

/** GET /v1/projects/{project}/quota */
export const showProjectQuota: Handler<operations['showProjectQuota']> = async (call) => {
  const { app, context, params } = call
  return { body: projectQuotaView(await projectQuota(app, context, params.project)) }
}

/** The quota of a project as the federation API shows it. */
function projectQuotaView({ projectId, name, resources }: ProjectQuota) {
  return { project_id: projectId, project: name, resources: resources.map(resourceQuotaView) }
}

/** `left` is 0 where a limit has been set below the usage. */
function resourceQuotaView(quota: ResourceQuota) {
  const { limit, used } = quota
  return { ...quota, left: limit === null ? null : Math.max(0, limit - used) }
}
