import type { operations } from '#openapi/compute.gen.ts'
import { checkUsageProject, listUsage } from '../../../app/usage/list-usage.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { usageViews } from '../../../views/usage.ts'
import { nextPageLinks } from '../page.ts'

export const showTenantUsage: Handler<operations['showTenantUsage']> = async (call) => {
  const { app, context, params, query } = call
  checkUsageProject(context, params.project_id)
  const limit = pageLimit(query.limit)
  const page = await listUsage(app.compute, params.project_id, query, limit)
  const { length: size } = page.servers
  const last = page.servers.at(-1)?.id
  const [usage = {}] = usageViews(page, true)
  return {
    body: {
      tenant_usage: usage,
      ...nextPageLinks(call, 'tenant_usage_links', { size, limit, last }),
    },
  }
}
