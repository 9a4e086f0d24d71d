import type { ServerGroup } from '../db/server-groups.ts'

/** A group at its widest. */
export function serverGroupView(group: ServerGroup) {
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
