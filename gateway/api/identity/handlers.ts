import type { operations } from '#openapi/identity.gen.ts'
import type { HandlerTable } from '../../http/operation.ts'
import { deleteAccessRule } from './access-rules/delete-access-rule.ts'
import { listAccessRules } from './access-rules/list-access-rules.ts'
import { showAccessRule } from './access-rules/show-access-rule.ts'
import { createApplicationCredential } from './application-credentials/create-application-credential.ts'
import { deleteApplicationCredential } from './application-credentials/delete-application-credential.ts'
import { listApplicationCredentials } from './application-credentials/list-application-credentials.ts'
import { showApplicationCredential } from './application-credentials/show-application-credential.ts'
import { listAuthDomains } from './auth/list-auth-domains.ts'
import { listAuthProjects } from './auth/list-auth-projects.ts'
import { listAuthSystem } from './auth/list-auth-system.ts'
import { showCatalog } from './auth/show-catalog.ts'
import { createEndpoint } from './catalog/create-endpoint.ts'
import { createRegion, putRegion } from './catalog/create-region.ts'
import { createService } from './catalog/create-service.ts'
import { deleteEndpoint } from './catalog/delete-endpoint.ts'
import { deleteRegion } from './catalog/delete-region.ts'
import { deleteService } from './catalog/delete-service.ts'
import { listEndpoints } from './catalog/list-endpoints.ts'
import { listRegions } from './catalog/list-regions.ts'
import { listServices } from './catalog/list-services.ts'
import { showEndpoint } from './catalog/show-endpoint.ts'
import { showRegion } from './catalog/show-region.ts'
import { showService } from './catalog/show-service.ts'
import { updateEndpoint } from './catalog/update-endpoint.ts'
import { updateRegion } from './catalog/update-region.ts'
import { updateService } from './catalog/update-service.ts'
import { credentialHandlers } from './credentials/credential-handlers.ts'
import { ec2CredentialHandlers } from './credentials/ec2-credential-handlers.ts'
import { createDomain } from './domains/create-domain.ts'
import { deleteDomain } from './domains/delete-domain.ts'
import { listDomains } from './domains/list-domains.ts'
import { showDomain } from './domains/show-domain.ts'
import { updateDomain } from './domains/update-domain.ts'
import { grantHandlers } from './grants/grant-handlers.ts'
import { listRoleAssignments } from './grants/list-role-assignments.ts'
import { addGroupUser } from './groups/add-group-user.ts'
import { checkGroupUser } from './groups/check-group-user.ts'
import { createGroup } from './groups/create-group.ts'
import { deleteGroup } from './groups/delete-group.ts'
import { listGroupUsers } from './groups/list-group-users.ts'
import { listGroups } from './groups/list-groups.ts'
import { listUserGroups } from './groups/list-user-groups.ts'
import { removeGroupUser } from './groups/remove-group-user.ts'
import { showGroup } from './groups/show-group.ts'
import { updateGroup } from './groups/update-group.ts'
import { addImpliedRole } from './implied-roles/add-implied-role.ts'
import { listImpliedRoles } from './implied-roles/list-implied-roles.ts'
import { listRoleInferences } from './implied-roles/list-role-inferences.ts'
import { removeImpliedRole } from './implied-roles/remove-implied-role.ts'
import { showImpliedRole } from './implied-roles/show-implied-role.ts'
import { limitHandlers } from './limits/limit-handlers.ts'
import { policyHandlers } from './policies/policy-handlers.ts'
import { addProjectTag } from './project-tags/add-project-tag.ts'
import { checkProjectTag } from './project-tags/check-project-tag.ts'
import { listProjectTags } from './project-tags/list-project-tags.ts'
import { removeProjectTag } from './project-tags/remove-project-tag.ts'
import { removeProjectTags } from './project-tags/remove-project-tags.ts'
import { replaceProjectTags } from './project-tags/replace-project-tags.ts'
import { createProject } from './projects/create-project.ts'
import { deleteProject } from './projects/delete-project.ts'
import { listProjects } from './projects/list-projects.ts'
import { listUserProjects } from './projects/list-user-projects.ts'
import { showProject } from './projects/show-project.ts'
import { updateProject } from './projects/update-project.ts'
import { createRole } from './roles/create-role.ts'
import { deleteRole } from './roles/delete-role.ts'
import { listRoles } from './roles/list-roles.ts'
import { showRole } from './roles/show-role.ts'
import { updateRole } from './roles/update-role.ts'
import { createToken } from './tokens/create-token.ts'
import { revokeToken } from './tokens/revoke-token.ts'
import { showToken } from './tokens/show-token.ts'
import { signatureTokenHandlers } from './tokens/signature-token-handlers.ts'
import { trustHandlers } from './trusts/trust-handlers.ts'
import { changePassword } from './users/change-password.ts'
import { createUser } from './users/create-user.ts'
import { deleteUser } from './users/delete-user.ts'
import { listUsers } from './users/list-users.ts'
import { showUser } from './users/show-user.ts'
import { updateUser } from './users/update-user.ts'
import { listVersions } from './versions/list-versions.ts'
import { showVersion } from './versions/show-version.ts'

/** A handler for every operation of openapi/identity.yaml. */
export const identityHandlers: HandlerTable<operations> = {
  ...credentialHandlers,
  ...ec2CredentialHandlers,
  ...signatureTokenHandlers,
  ...grantHandlers,
  ...limitHandlers,
  ...policyHandlers,
  ...trustHandlers,
  addGroupUser,
  addImpliedRole,
  addProjectTag,
  changePassword,
  checkGroupUser,
  checkProjectTag,
  createApplicationCredential,
  createDomain,
  createEndpoint,
  createGroup,
  createProject,
  createRegion,
  putRegion,
  createRole,
  createService,
  createToken,
  createUser,
  deleteAccessRule,
  deleteApplicationCredential,
  deleteDomain,
  deleteEndpoint,
  deleteGroup,
  deleteProject,
  deleteRegion,
  deleteRole,
  deleteService,
  deleteUser,
  listAccessRules,
  listApplicationCredentials,
  listAuthDomains,
  listAuthProjects,
  listAuthSystem,
  listDomains,
  listEndpoints,
  listGroupUsers,
  listGroups,
  listImpliedRoles,
  listProjectTags,
  listProjects,
  listRegions,
  listRoleAssignments,
  listRoleInferences,
  listRoles,
  listServices,
  listUserGroups,
  listUserProjects,
  listUsers,
  listVersions,
  removeGroupUser,
  removeImpliedRole,
  removeProjectTag,
  removeProjectTags,
  replaceProjectTags,
  revokeToken,
  showAccessRule,
  showApplicationCredential,
  showCatalog,
  showDomain,
  showEndpoint,
  showGroup,
  showImpliedRole,
  showProject,
  showRegion,
  showRole,
  showService,
  showToken,
  showUser,
  showVersion,
  updateDomain,
  updateEndpoint,
  updateGroup,
  updateProject,
  updateRegion,
  updateRole,
  updateService,
  updateUser,
}
