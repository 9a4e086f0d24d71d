import type { operations } from '#openapi/identity.gen.ts'
import { NO_ENTRIES } from '../../../app/identity/listed.ts'
import { roleAssignments } from '../../../app/identity/role-assignments.ts'
import type { Answer, Call } from '../../../http/operation.ts'
import { roleAssignmentView } from '../../../views/identity/role-assignment.ts'
import { listBody } from '../list-body.ts'

type Op = operations['listRoleAssignments']

/** GET /v3/role_assignments */
export async function listRoleAssignments(call: Call<Op>): Promise<Answer<Op>> {
  const { app, query, links } = call
  const filter = {
    user: query['user.id'],
    role: query['role.id'],
    project: query['scope.project.id'],
    domain: query['scope.domain.id'],
    isSystem: query['scope.system'] !== undefined,
    isEffective: query.effective === true,
    withNames: query.include_names === true,
  }
  const isOfGroup = query['group.id'] !== undefined
  const found = isOfGroup ? NO_ENTRIES : await roleAssignments(app.identity, filter)
  return { body: listBody(call, 'role_assignments', found, (it) => roleAssignmentView(it, links)) }
}
