import type { operations } from '#openapi/compute.gen.ts'
import { listUsage } from '../../../app/usage/list-usage.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { usageViews } from '../../../views/usage.ts'
import { nextPageLinks } from '../page.ts'

export const listTenantUsage: Handler<operations['listTenantUsage']> = async (call) => {
  const { app, query } = call
  const limit = pageLimit(query.limit)
  const page = await listUsage(app.compute, null, query, limit)
  const { length: size } = page.servers
  const last = page.servers.at(-1)?.id
  return {
    body: {
      tenant_usages: usageViews(page, query.detailed === '1'),
      ...nextPageLinks(call, 'tenant_usages_links', { size, limit, last }),
    },
  }
}
