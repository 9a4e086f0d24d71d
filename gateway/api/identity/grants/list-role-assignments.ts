import type { operations } from '#openapi/identity.gen.ts'
import { roleAssignments } from '../../../app/identity/role-assignments.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleAssignmentView } from '../../../views/identity/role-assignment.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listRoleAssignments']

/** GET /v3/role_assignments */
export async function listRoleAssignments(call: Call<Op>): Promise<Answer<Op>> {
  const { app, context, query, links } = call
  const found = await roleAssignments(app.identity, context, {
    user: query['user.id'],
    group: query['group.id'],
    role: query['role.id'],
    project: query['scope.project.id'],
    domain: query['scope.domain.id'],
    isSystem: query['scope.system'] !== undefined,
    isInherited: query['scope.OS-INHERIT:inherited_to'] !== undefined,
    isEffective: query.effective === true,
    withSubtree: query.include_subtree === true,
    withNames: query.include_names === true,
  })
  return { body: listBody(call, 'role_assignments', found, (it) => roleAssignmentView(it, links)) }
}
