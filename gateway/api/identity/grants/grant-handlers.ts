import type { Handlers } from '../../../http/operation.ts'
import { checkGrant } from './check-grant.ts'
import { createGrant } from './create-grant.ts'
import { listGrants } from './list-grants.ts'
import { revokeGrant } from './revoke-grant.ts'

/** The operations on grants: one of four for every kind of target and actor. */
export const grantHandlers: Handlers = {
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
