import type { Handlers } from '../../http/operation.ts'
import { createApplicationCredential } from './application-credentials/create-application-credential.ts'
import { deleteApplicationCredential } from './application-credentials/delete-application-credential.ts'
import { listApplicationCredentials } from './application-credentials/list-application-credentials.ts'
import { showApplicationCredential } from './application-credentials/show-application-credential.ts'
import { listAuthDomains } from './auth/list-auth-domains.ts'
import { listAuthProjects } from './auth/list-auth-projects.ts'
import { listAuthSystem } from './auth/list-auth-system.ts'
import { showCatalog } from './auth/show-catalog.ts'
import { listEndpoints } from './catalog/list-endpoints.ts'
import { listRegions } from './catalog/list-regions.ts'
import { listServices } from './catalog/list-services.ts'
import { showEndpoint } from './catalog/show-endpoint.ts'
import { showRegion } from './catalog/show-region.ts'
import { showService } from './catalog/show-service.ts'
import { listDomains } from './domains/list-domains.ts'
import { showDomain } from './domains/show-domain.ts'
import { listProjects } from './projects/list-projects.ts'
import { listUserProjects } from './projects/list-user-projects.ts'
import { showProject } from './projects/show-project.ts'
import { listRoleAssignments } from './roles/list-role-assignments.ts'
import { listRoles } from './roles/list-roles.ts'
import { showRole } from './roles/show-role.ts'
import { createToken } from './tokens/create-token.ts'
import { revokeToken } from './tokens/revoke-token.ts'
import { showToken } from './tokens/show-token.ts'
import { listUsers } from './users/list-users.ts'
import { showUser } from './users/show-user.ts'
import { listVersions } from './versions/list-versions.ts'
import { showVersion } from './versions/show-version.ts'

/** A handler for every operation of openapi/identity.yaml. */
export const identityHandlers: Handlers = {
  createApplicationCredential,
  createToken,
  deleteApplicationCredential,
  listApplicationCredentials,
  listAuthDomains,
  listAuthProjects,
  listAuthSystem,
  listDomains,
  listEndpoints,
  listProjects,
  listRegions,
  listRoleAssignments,
  listRoles,
  listServices,
  listUserProjects,
  listUsers,
  listVersions,
  revokeToken,
  showApplicationCredential,
  showCatalog,
  showDomain,
  showEndpoint,
  showProject,
  showRegion,
  showRole,
  showService,
  showToken,
  showUser,
  showVersion,
}
