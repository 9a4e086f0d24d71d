import type { operations } from '#openapi/identity.gen.ts'
import {
  addGrant,
  type GrantPlace,
  grantedAt,
  removeGrant,
  requireGrant,
} from '../../app/identity/grants.ts'
import type { RoleAssignment } from '../../app/identity/model.ts'
import { roleAssignments } from '../../app/identity/role-assignments.ts'
import type { Answer, Call } from '../../http/operation.ts'
import { roleView } from '../../views/identity/role.ts'
import { roleAssignmentView } from '../../views/identity/role-assignment.ts'
import { listBody } from './list-body.ts'

/** GET /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
async function checkGrant(call: GrantCall): Promise<Answer> {
  await requireGrant(call.app.identity, call.context, grantOf(call), 'identity:check_grant')
  return {}
}

/** PUT /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
async function createGrant(call: GrantCall): Promise<Answer> {
  await addGrant(call.app.identity, call.context, grantOf(call), 'identity:create_grant')
  return {}
}

/** The parameters of the paths of grants; which of them are present depends on the path. */
interface GrantOperation {
  readonly parameters: {
    readonly path: {
      readonly project_id?: string
      readonly domain_id?: string
      readonly user_id?: string
      readonly group_id?: string
      readonly role_id?: string
    }
  }
}

/** A request of any of the operations on grants: their paths differ only in who and where. */
type GrantCall = Call<GrantOperation>

function placeOf({ params, raw }: GrantCall): GrantPlace {
  const { project_id, domain_id, user_id, group_id } = params
  return {
    ...(user_id === undefined
      ? { actorType: 'group', actorId: group_id ?? '' }
      : { actorType: 'user', actorId: user_id }),
    ...targetOf(project_id, domain_id),
    inherited: raw.path.endsWith('/inherited_to_projects'),
  }
}

function grantOf(call: GrantCall): RoleAssignment {
  return { ...placeOf(call), roleId: call.params.role_id ?? '' }
}

function targetOf(
  projectId: string | undefined,
  domainId: string | undefined,
): Pick<RoleAssignment, 'targetType' | 'targetId'> {
  if (projectId !== undefined) return { targetType: 'project', targetId: projectId }
  if (domainId !== undefined) return { targetType: 'domain', targetId: domainId }
  return { targetType: 'system', targetId: '' }
}

/** The operations on grants: one of four for every kind of target and actor. */
export const grantHandlers = {
  addGroupRoleBelowDomain: createGrant,
  addGroupRoleBelowProject: createGrant,
  addGroupRoleOnDomain: createGrant,
  addGroupRoleOnProject: createGrant,
  addGroupRoleOnSystem: createGrant,
  addUserRoleBelowDomain: createGrant,
  addUserRoleBelowProject: createGrant,
  addUserRoleOnDomain: createGrant,
  addUserRoleOnProject: createGrant,
  addUserRoleOnSystem: createGrant,
  checkGroupRoleBelowDomain: checkGrant,
  checkGroupRoleBelowProject: checkGrant,
  checkGroupRoleOnDomain: checkGrant,
  checkGroupRoleOnProject: checkGrant,
  checkGroupRoleOnSystem: checkGrant,
  checkUserRoleBelowDomain: checkGrant,
  checkUserRoleBelowProject: checkGrant,
  checkUserRoleOnDomain: checkGrant,
  checkUserRoleOnProject: checkGrant,
  checkUserRoleOnSystem: checkGrant,
  listGroupRolesBelowDomain: listGrants,
  listGroupRolesBelowProject: listGrants,
  listGroupRolesOnDomain: listGrants,
  listGroupRolesOnProject: listGrants,
  listGroupRolesOnSystem: listGrants,
  listUserRolesBelowDomain: listGrants,
  listUserRolesBelowProject: listGrants,
  listUserRolesOnDomain: listGrants,
  listUserRolesOnProject: listGrants,
  listUserRolesOnSystem: listGrants,
  removeGroupRoleBelowDomain: revokeGrant,
  removeGroupRoleBelowProject: revokeGrant,
  removeGroupRoleOnDomain: revokeGrant,
  removeGroupRoleOnProject: revokeGrant,
  removeGroupRoleOnSystem: revokeGrant,
  removeUserRoleBelowDomain: revokeGrant,
  removeUserRoleBelowProject: revokeGrant,
  removeUserRoleOnDomain: revokeGrant,
  removeUserRoleOnProject: revokeGrant,
  removeUserRoleOnSystem: revokeGrant,
}

/** GET /v3/{target}/{actor}/roles, for every kind of target and actor */
async function listGrants(call: GrantCall): Promise<Answer> {
  const { app, context, links } = call
  const found = await grantedAt(app.identity, context, placeOf(call), 'identity:list_grants')
  return { body: listBody(call, 'roles', found, (role) => roleView(role, links)) }
}

/** GET /v3/role_assignments */
export async function listRoleAssignments(
  call: Call<operations['listRoleAssignments']>,
): Promise<Answer<operations['listRoleAssignments']>> {
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

/** DELETE /v3/{target}/{actor}/roles/{role_id}, for every kind of target and actor */
async function revokeGrant(call: GrantCall): Promise<Answer> {
  await removeGrant(call.app.identity, call.context, grantOf(call), 'identity:revoke_grant')
  return {}
}
