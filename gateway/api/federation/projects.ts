import type { operations } from '#openapi/federation.gen.ts'
import { projectQuota } from '../../app/federation/project-quota.ts'
import type { Handler } from '../../http/operation.ts'
import { projectQuotaView } from '../../views/federation/project-quota.ts'

/** GET /v1/projects/{project}/quota */
export const showProjectQuota: Handler<operations['showProjectQuota']> = async (call) => {
  const { app, context, params } = call
  return { body: projectQuotaView(await projectQuota(app, context, params.project)) }
}
