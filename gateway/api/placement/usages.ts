import type { operations } from '#openapi/placement.gen.ts'
import { projectUsages } from '../../app/placement/allocations.ts'
import type { Handler } from '../../http/operation.ts'
import { totalUsagesView } from '../../views/placement/allocations.ts'
import { freshness } from '../../views/placement/freshness.ts'

/** GET /usages */
export const listUsages: Handler<operations['listUsages']> = async ({ app, context, query }) => {
  const asked = { projectId: query.project_id, userId: query.user_id }
  const usages = await projectUsages(app.db, context, asked)
  return {
    body: totalUsagesView(usages, query.consumer_type, context),
    headers: freshness(Date.now()),
  }
}
