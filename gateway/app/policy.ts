import { Failure } from '#common/errors.ts'
import type { Caller } from './request-context.ts'

/** Throws `forbidden`, naming the rule, for a caller the rule does not allow. */
export type PolicyCheck = (caller: Caller) => void

/**
 * Who a rule allows, as the defaults of Nova (nova/policies/base.py) and Keystone say it. Whether the thing asked for is the
 * caller's own is decided where it is read: another project's things are not found.
 */
const WHO = {
  /** Any valid token, whatever its scope. */
  authenticated: () => true,
  /** `project_reader_or_admin`. */
  reader: (caller: Caller) => caller.isAdmin || hasInProject(caller, 'reader'),
  /** `project_member_or_admin`. */
  member: (caller: Caller) => caller.isAdmin || hasInProject(caller, 'member'),
  /** `context_is_admin`: the role `admin` in any scope. */
  admin: (caller: Caller) => caller.isAdmin,
  /** Readers of the whole system, and administrators. */
  'system-reader': (caller: Caller) =>
    caller.isAdmin || (caller.isSystemScoped && caller.roles.has('reader')),
  /** Readers of the whole system, and of the domain the token is for: what is not in it is refused inside. */
  'domain-reader': (caller: Caller) =>
    caller.isAdmin ||
    ((caller.isSystemScoped || caller.domainId !== null) && caller.roles.has('reader')),
  /** Administrators, and managers of the domain the token is for: what is not in it is refused inside. */
  'domain-manager': (caller: Caller) =>
    caller.isAdmin || (caller.domainId !== null && caller.roles.has('manager')),
  /** Services that check their callers' tokens, and whoever may read the whole system. */
  service: (caller: Caller) =>
    caller.isAdmin ||
    caller.roles.has('service') ||
    (caller.isSystemScoped && caller.roles.has('reader')),
} as const
export type Who = keyof typeof WHO

function hasInProject({ projectId, roles }: Caller, role: string): boolean {
  return projectId !== null && roles.has(role)
}

/**
 * Who each rule allows. The names are the `x-policy` of operations in the documents, and what refines them inside an
 * operation (`…:get_all_tenants`); they are those of Nova, Glance and Neutron, and their defaults are kept.
 */
export const POLICY: Readonly<Record<string, Who>> = {
  authenticated: 'authenticated',

  // Keystone's. What may be one's own is open to every token; `…:other` governs the rest.
  'identity:add_user_to_group': 'domain-manager',
  'identity:check_grant': 'domain-reader',
  'identity:check_system_grant_for_group': 'system-reader',
  'identity:check_system_grant_for_user': 'system-reader',
  'identity:check_user_in_group': 'domain-reader',
  'identity:create_application_credential': 'authenticated',
  'identity:create_domain': 'admin',
  'identity:create_endpoint': 'admin',
  'identity:create_grant': 'domain-manager',
  'identity:create_group': 'domain-manager',
  'identity:create_implied_role': 'admin',
  'identity:create_project': 'domain-manager',
  'identity:create_project_tag': 'domain-manager',
  'identity:create_region': 'admin',
  'identity:create_role': 'admin',
  'identity:create_service': 'admin',
  'identity:create_system_grant_for_group': 'admin',
  'identity:create_system_grant_for_user': 'admin',
  'identity:create_user': 'domain-manager',
  'identity:delete_access_rule': 'authenticated',
  'identity:delete_access_rule:other': 'admin',
  'identity:delete_application_credential': 'authenticated',
  'identity:delete_application_credential:other': 'admin',
  'identity:delete_domain': 'admin',
  'identity:delete_endpoint': 'admin',
  'identity:delete_group': 'domain-manager',
  'identity:delete_implied_role': 'admin',
  'identity:delete_project': 'domain-manager',
  'identity:delete_project_tag': 'domain-manager',
  'identity:delete_project_tags': 'domain-manager',
  'identity:delete_region': 'admin',
  'identity:delete_role': 'admin',
  'identity:delete_service': 'admin',
  'identity:delete_user': 'domain-manager',
  'identity:get_access_rule': 'authenticated',
  'identity:get_access_rule:other': 'system-reader',
  'identity:get_application_credential': 'authenticated',
  'identity:get_application_credential:other': 'system-reader',
  'identity:get_auth_catalog': 'authenticated',
  'identity:get_auth_domains': 'authenticated',
  'identity:get_auth_projects': 'authenticated',
  'identity:get_auth_system': 'authenticated',
  'identity:get_domain': 'authenticated',
  'identity:get_domain:other': 'domain-reader',
  'identity:get_domain_role': 'domain-reader',
  'identity:get_endpoint': 'system-reader',
  'identity:get_group': 'domain-reader',
  'identity:get_implied_role': 'system-reader',
  'identity:get_project': 'authenticated',
  'identity:get_project:other': 'domain-reader',
  'identity:get_project_tag': 'authenticated',
  'identity:get_project_tag:other': 'domain-reader',
  'identity:get_region': 'authenticated',
  'identity:get_role': 'domain-reader',
  'identity:get_service': 'system-reader',
  'identity:get_user': 'authenticated',
  'identity:get_user:other': 'domain-reader',
  'identity:list_access_rules': 'authenticated',
  'identity:list_access_rules:other': 'system-reader',
  'identity:list_application_credentials': 'authenticated',
  'identity:list_application_credentials:other': 'system-reader',
  'identity:list_domain_roles': 'domain-reader',
  'identity:list_domains': 'domain-reader',
  'identity:list_endpoints': 'system-reader',
  'identity:list_grants': 'domain-reader',
  'identity:list_groups': 'domain-reader',
  'identity:list_groups_for_user': 'authenticated',
  'identity:list_groups_for_user:other': 'domain-reader',
  'identity:list_implied_roles': 'system-reader',
  'identity:list_project_tags': 'authenticated',
  'identity:list_project_tags:other': 'domain-reader',
  'identity:list_projects': 'domain-reader',
  'identity:list_regions': 'authenticated',
  'identity:list_role_assignments': 'domain-reader',
  'identity:list_role_inference_rules': 'system-reader',
  'identity:list_roles': 'domain-reader',
  'identity:list_services': 'system-reader',
  'identity:list_system_grants_for_group': 'system-reader',
  'identity:list_system_grants_for_user': 'system-reader',
  'identity:list_user_projects': 'authenticated',
  'identity:list_user_projects:other': 'domain-reader',
  'identity:list_users': 'domain-reader',
  'identity:list_users_in_group': 'domain-reader',
  'identity:remove_user_from_group': 'domain-manager',
  'identity:revoke_grant': 'domain-manager',
  'identity:revoke_system_grant_for_group': 'admin',
  'identity:revoke_system_grant_for_user': 'admin',
  'identity:revoke_token': 'authenticated',
  'identity:revoke_token:other': 'admin',
  'identity:update_domain': 'admin',
  'identity:update_endpoint': 'admin',
  'identity:update_group': 'domain-manager',
  'identity:update_project': 'domain-manager',
  'identity:update_project_tags': 'domain-manager',
  'identity:update_region': 'admin',
  'identity:update_role': 'admin',
  'identity:update_service': 'admin',
  'identity:update_user': 'domain-manager',
  'identity:validate_token': 'authenticated',
  'identity:validate_token:other': 'service',

  // Nova's.
  'compute:server:topology:index': 'reader',
  'compute:servers:create:requested_destination': 'admin',
  'os_compute_api:extensions': 'authenticated',
  'os_compute_api:limits': 'authenticated',
  'os_compute_api:limits:other_project': 'admin',
  'os_compute_api:os-admin-actions:inject_network_info': 'admin',
  'os_compute_api:os-admin-actions:reset_state': 'admin',
  'os_compute_api:os-admin-password': 'member',
  'os_compute_api:os-aggregates:add_host': 'admin',
  'os_compute_api:os-aggregates:create': 'admin',
  'os_compute_api:os-aggregates:delete': 'admin',
  'os_compute_api:os-aggregates:index': 'admin',
  'os_compute_api:os-aggregates:remove_host': 'admin',
  'os_compute_api:os-aggregates:set_metadata': 'admin',
  'os_compute_api:os-aggregates:show': 'admin',
  'os_compute_api:os-aggregates:update': 'admin',
  'os_compute_api:os-availability-zone:detail': 'admin',
  'os_compute_api:os-availability-zone:list': 'authenticated',
  'os_compute_api:os-console-output': 'member',
  'os_compute_api:os-create-backup': 'member',
  'os_compute_api:os-extended-server-attributes': 'admin',
  'os_compute_api:os-flavor-access': 'admin',
  'os_compute_api:os-flavor-access:add_tenant_access': 'admin',
  'os_compute_api:os-flavor-access:remove_tenant_access': 'admin',
  'os_compute_api:os-flavor-extra-specs:create': 'admin',
  'os_compute_api:os-flavor-extra-specs:delete': 'admin',
  'os_compute_api:os-flavor-extra-specs:index': 'reader',
  'os_compute_api:os-flavor-extra-specs:show': 'reader',
  'os_compute_api:os-flavor-extra-specs:update': 'admin',
  'os_compute_api:os-flavor-manage:create': 'admin',
  'os_compute_api:os-flavor-manage:delete': 'admin',
  'os_compute_api:os-flavor-manage:update': 'admin',
  'os_compute_api:os-hypervisors:list': 'admin',
  'os_compute_api:os-hypervisors:list-detail': 'admin',
  'os_compute_api:os-hypervisors:search': 'admin',
  'os_compute_api:os-hypervisors:servers': 'admin',
  'os_compute_api:os-hypervisors:show': 'admin',
  'os_compute_api:os-hypervisors:statistics': 'admin',
  'os_compute_api:os-hypervisors:uptime': 'admin',
  'os_compute_api:os-instance-actions:events': 'admin',
  'os_compute_api:os-instance-actions:events:details': 'admin',
  'os_compute_api:os-instance-actions:list': 'reader',
  'os_compute_api:os-instance-actions:show': 'reader',
  'os_compute_api:os-keypairs:create': 'authenticated',
  'os_compute_api:os-keypairs:delete': 'authenticated',
  'os_compute_api:os-keypairs:index': 'authenticated',
  'os_compute_api:os-keypairs:show': 'authenticated',
  'os_compute_api:os-lock-server:lock': 'member',
  'os_compute_api:os-lock-server:unlock': 'member',
  'os_compute_api:os-lock-server:unlock:unlock_override': 'admin',
  'os_compute_api:os-pause-server:pause': 'member',
  'os_compute_api:os-pause-server:unpause': 'member',
  'os_compute_api:os-quota-class-sets:show': 'admin',
  'os_compute_api:os-quota-class-sets:update': 'admin',
  'os_compute_api:os-quota-sets:defaults': 'authenticated',
  'os_compute_api:os-quota-sets:delete': 'admin',
  'os_compute_api:os-quota-sets:detail': 'reader',
  'os_compute_api:os-quota-sets:show': 'reader',
  'os_compute_api:os-quota-sets:update': 'admin',
  'os_compute_api:os-rescue': 'member',
  'os_compute_api:os-server-diagnostics': 'admin',
  'os_compute_api:os-server-password:clear': 'member',
  'os_compute_api:os-server-password:show': 'reader',
  'os_compute_api:os-server-groups:create': 'member',
  'os_compute_api:os-server-groups:delete': 'member',
  'os_compute_api:os-server-groups:index': 'reader',
  'os_compute_api:os-server-groups:index:all_projects': 'admin',
  'os_compute_api:os-server-groups:show': 'reader',
  'os_compute_api:os-server-tags:delete': 'member',
  'os_compute_api:os-server-tags:delete_all': 'member',
  'os_compute_api:os-server-tags:index': 'reader',
  'os_compute_api:os-server-tags:show': 'reader',
  'os_compute_api:os-server-tags:update': 'member',
  'os_compute_api:os-server-tags:update_all': 'member',
  'os_compute_api:os-services:delete': 'admin',
  'os_compute_api:os-services:list': 'admin',
  'os_compute_api:os-services:update': 'admin',
  'os_compute_api:os-shelve:shelve': 'member',
  'os_compute_api:os-shelve:shelve_offload': 'admin',
  'os_compute_api:os-shelve:unshelve': 'member',
  'os_compute_api:os-shelve:unshelve_to_host': 'admin',
  'os_compute_api:os-suspend-server:resume': 'member',
  'os_compute_api:os-suspend-server:suspend': 'member',
  'os_compute_api:os-unrescue': 'member',
  'os_compute_api:server-metadata:create': 'member',
  'os_compute_api:server-metadata:delete': 'member',
  'os_compute_api:server-metadata:index': 'reader',
  'os_compute_api:server-metadata:show': 'reader',
  'os_compute_api:server-metadata:update': 'member',
  'os_compute_api:server-metadata:update_all': 'member',
  'os_compute_api:servers:confirm_resize': 'member',
  'os_compute_api:servers:create': 'member',
  'os_compute_api:servers:create:forced_host': 'admin',
  'os_compute_api:servers:create_image': 'member',
  'os_compute_api:servers:delete': 'member',
  'os_compute_api:servers:detail': 'reader',
  'os_compute_api:servers:detail:get_all_tenants': 'admin',
  'os_compute_api:servers:index': 'reader',
  'os_compute_api:servers:index:get_all_tenants': 'admin',
  'os_compute_api:servers:reboot': 'member',
  'os_compute_api:servers:rebuild': 'member',
  'os_compute_api:servers:resize': 'member',
  'os_compute_api:servers:revert_resize': 'member',
  'os_compute_api:servers:show': 'reader',
  'os_compute_api:servers:show:host_status': 'admin',
  'os_compute_api:servers:start': 'member',
  'os_compute_api:servers:stop': 'member',
  'os_compute_api:servers:trigger_crash_dump': 'member',
  'os_compute_api:servers:update': 'member',

  // Glance's.
  add_image: 'member',
  add_member: 'member',
  deactivate: 'member',
  delete_image: 'member',
  delete_member: 'member',
  download_image: 'member',
  get_image: 'reader',
  get_images: 'reader',
  get_member: 'reader',
  get_members: 'reader',
  get_task: 'admin',
  get_tasks: 'admin',
  modify_image: 'member',
  modify_member: 'member',
  reactivate: 'member',
  upload_image: 'member',

  // Placement's; `…:other_project` is ours.
  'placement:allocation_candidates:list': 'admin',
  'placement:allocations:list': 'admin',
  'placement:resource_classes:list': 'admin',
  'placement:resource_classes:show': 'admin',
  'placement:resource_providers:aggregates:list': 'admin',
  'placement:resource_providers:allocations:list': 'admin',
  'placement:resource_providers:inventories:list': 'admin',
  'placement:resource_providers:inventories:show': 'admin',
  'placement:resource_providers:list': 'admin',
  'placement:resource_providers:show': 'admin',
  'placement:resource_providers:traits:list': 'admin',
  'placement:resource_providers:usages': 'admin',
  'placement:traits:list': 'admin',
  'placement:traits:show': 'admin',
  'placement:usages': 'reader',
  'placement:usages:other_project': 'admin',

  // Neutron's; `get_quota_of_others` is ours.
  create_network: 'member',
  create_port: 'member',
  create_security_group: 'member',
  create_security_group_rule: 'member',
  create_subnet: 'member',
  delete_network: 'member',
  delete_port: 'member',
  delete_quota: 'admin',
  delete_security_group: 'member',
  delete_security_group_rule: 'member',
  delete_subnet: 'member',
  get_agent: 'admin',
  get_network: 'reader',
  get_port: 'reader',
  get_quota: 'reader',
  get_quota_of_others: 'admin',
  get_security_group: 'reader',
  get_security_group_rule: 'reader',
  get_subnet: 'reader',
  update_network: 'member',
  update_port: 'member',
  update_quota: 'admin',
  update_security_group: 'member',
  update_subnet: 'member',
}

/** The check of a rule; throws a plain Error for a name the table does not have. */
export function policyCheck(rule: string): PolicyCheck {
  const isAllowed = WHO[whoMay(rule)]
  return (caller) => {
    if (!isAllowed(caller)) throw refusal(rule)
  }
}

/** For what only changes by rule, such as a field shown to administrators. */
export function isAllowed(caller: Caller, rule: string): boolean {
  return WHO[whoMay(rule)](caller)
}

/** Throws `forbidden` for a caller the rule does not allow. For rules that depend on what is asked, not only on the operation. */
export function enforce(caller: Caller, rule: string): void {
  if (!isAllowed(caller, rule)) throw refusal(rule)
}

function refusal(rule: string): Failure {
  return new Failure(
    'forbidden',
    rule.startsWith('identity:')
      ? `You are not authorized to perform the requested action: ${rule}.`
      : `Policy ${rule} does not allow this.`,
  )
}

function whoMay(rule: string): Who {
  const who = POLICY[rule]
  if (who === undefined) throw new Error(`the policy table has no rule ${rule}`)
  return who
}
