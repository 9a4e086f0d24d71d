import type { operations } from '#openapi/compute.gen.ts'
import { listServerGroups as list } from '../../../app/server-groups/list-server-groups.ts'
import type { Handler } from '../../../http/operation.ts'
import { pageLimit } from '../../../http/pagination.ts'
import { serverGroupView } from '../../../views/server-group.ts'

export const listServerGroups: Handler<operations['listServerGroups']> = async (call) => {
  const { app, context, query } = call
  const groups = await list(app.db, context, query, pageLimit(query.limit))
  return { body: { server_groups: groups.map(serverGroupView) } }
}
