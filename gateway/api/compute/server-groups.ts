import type { operations } from '#openapi/compute.gen.ts'
import {
  createServerGroup as create,
  listServerGroups as list,
  deleteServerGroup as remove,
  showServerGroup as show,
} from '../../app/server-groups/server-groups.ts'
import type { ServerGroup } from '../../db/server-groups.ts'
import type { Handler } from '../../http/operation.ts'
import { pageLimit } from '../../http/pagination.ts'

const createServerGroup: Handler<operations['createServerGroup']> = async (call) => {
  const { app, context, body } = call
  const { name, policies, policy, rules } = body.server_group
  const group = await create(app.db, context, {
    name,
    // The document requires one of the two at every microversion.
    policy: (policy ?? policies?.[0])!,
    maxPerHost: rules?.max_server_per_host ?? null,
  })
  return { body: { server_group: serverGroupView(group) } }
}

const deleteServerGroup: Handler<operations['deleteServerGroup']> = async (call) => {
  const { app, context, params } = call
  await remove(app.db, context, params.server_group_id)
  return {}
}

const listServerGroups: Handler<operations['listServerGroups']> = async (call) => {
  const { app, context, query } = call
  const groups = await list(app.db, context, query, pageLimit(query.limit))
  return { body: { server_groups: groups.map(serverGroupView) } }
}

const showServerGroup: Handler<operations['showServerGroup']> = async (call) => {
  const { app, context, params } = call
  const group = await show(app.db, context, params.server_group_id)
  return { body: { server_group: serverGroupView(group) } }
}

export const serverGroupHandlers = {
  createServerGroup,
  deleteServerGroup,
  listServerGroups,
  showServerGroup,
}

/** A group at its widest. */
function serverGroupView(group: ServerGroup) {
  const { id, name, policy, maxPerHost, members, projectId, userId } = group
  return {
    id,
    name,
    members,
    metadata: {},
    project_id: projectId,
    user_id: userId,
    policies: [policy],
    policy,
    rules: maxPerHost === null ? {} : { max_server_per_host: maxPerHost },
  }
}
