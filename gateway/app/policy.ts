import { Failure } from '#common/errors.ts'
import { FEDERATION_POLICY } from './federation/federation-policy.ts'
import { IDENTITY_POLICY } from './identity/identity-policy.ts'
import { NETWORK_POLICY } from './networks/network-policy.ts'
import type { Caller } from './request-context.ts'
import { VOLUME_POLICY } from './volumes/volume-policy.ts'

/** Throws `forbidden`, naming the rule, for a caller the rule does not allow. */
export type PolicyCheck = (caller: Caller) => void

/**
 * The callers whom a rule allows, by the defaults of Nova (nova/policies/base.py) and Keystone. Whether an object
 * belongs to the caller is checked where it is read: objects of other projects are not found.
 */
const WHO = {
  /** Any valid token, of any scope. */
  authenticated: () => true,
  /** `project_reader_or_admin`. */
  reader: (caller: Caller) => caller.isAdmin || hasInProject(caller, 'reader'),
  /** `project_member_or_admin`. */
  member: (caller: Caller) => caller.isAdmin || hasInProject(caller, 'member'),
  /** The same for a token of any scope: Keystone's `role:member`. */
  'member-anywhere': (caller: Caller) => caller.isAdmin || caller.roles.has('member'),
  /** `context_is_admin`: the role `admin` in a project or the whole system. */
  admin: (caller: Caller) => caller.isAdmin,
  /** Readers of the whole system, and administrators. */
  'system-reader': (caller: Caller) =>
    caller.isAdmin || (caller.isSystemScoped && caller.roles.has('reader')),
  /** Readers of a project, and of the whole system. */
  'project-or-system-reader': (caller: Caller) =>
    caller.isAdmin ||
    ((caller.projectId !== null || caller.isSystemScoped) && caller.roles.has('reader')),
  /** Readers of the whole system, and of the domain the token is for: objects outside the domain are refused inside. */
  'domain-reader': (caller: Caller) =>
    caller.isAdmin ||
    ((caller.isSystemScoped || caller.domainId !== null) && caller.roles.has('reader')),
  /** Administrators, and managers of the domain the token is for: objects outside the domain are refused inside. */
  'domain-manager': (caller: Caller) =>
    caller.isAdmin || (caller.domainId !== null && caller.roles.has('manager')),
  /** Services that check their callers' tokens, and readers of the whole system. */
  service: (caller: Caller) =>
    caller.isAdmin ||
    caller.roles.has('service') ||
    (caller.isSystemScoped && caller.roles.has('reader')),
  /** `service_or_admin`: other services of the cloud. */
  'service-or-admin': (caller: Caller) => caller.isAdmin || caller.roles.has('service'),
} as const
export type Who = keyof typeof WHO

function hasInProject({ projectId, roles }: Caller, role: string): boolean {
  return projectId !== null && roles.has(role)
}

/**
 * Who each rule allows. The names are the `x-policy` of operations in the documents, and what refines them inside an
 * operation (`…:get_all_tenants`); they are those of Nova, Glance, Neutron and Cinder, and their defaults are kept.
 */
export const POLICY: Readonly<Record<string, Who>> = {
  authenticated: 'authenticated',

  ...IDENTITY_POLICY,

  ...FEDERATION_POLICY,

  ...NETWORK_POLICY,

  ...VOLUME_POLICY,

  // Nova's.
  'compute:aggregates:images': 'admin',
  'compute:server:topology:host:index': 'admin',
  'compute:server:topology:index': 'reader',
  'compute:servers:create:requested_destination': 'admin',
  // Of cells v1.
  'cells_scheduler_filter:DifferentCellFilter': 'admin',
  'cells_scheduler_filter:TargetCellFilter': 'admin',
  'os_compute_api:servers:create:zero_disk_flavor': 'admin',
  'os_compute_api:extensions': 'authenticated',
  'os_compute_api:ips:index': 'reader',
  'os_compute_api:ips:show': 'reader',
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
  'os_compute_api:os-attach-interfaces:create': 'member',
  'os_compute_api:os-attach-interfaces:delete': 'member',
  'os_compute_api:os-attach-interfaces:list': 'reader',
  'os_compute_api:os-attach-interfaces:show': 'reader',
  'os_compute_api:os-assisted-volume-snapshots:create': 'service-or-admin',
  'os_compute_api:os-assisted-volume-snapshots:delete': 'service-or-admin',
  'os_compute_api:os-availability-zone:detail': 'admin',
  'os_compute_api:os-availability-zone:list': 'authenticated',
  'os_compute_api:os-baremetal-nodes:list': 'admin',
  'os_compute_api:os-baremetal-nodes:show': 'admin',
  'os_compute_api:os-console-auth-tokens': 'admin',
  'os_compute_api:os-console-output': 'member',
  'os_compute_api:os-deferred-delete:force': 'member',
  'os_compute_api:os-deferred-delete:restore': 'member',
  'os_compute_api:os-create-backup': 'member',
  'os_compute_api:os-evacuate': 'admin',
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
  'os_compute_api:os-floating-ip-pools': 'authenticated',
  'os_compute_api:os-floating-ips:add': 'member',
  'os_compute_api:os-floating-ips:create': 'member',
  'os_compute_api:os-floating-ips:delete': 'member',
  'os_compute_api:os-floating-ips:list': 'reader',
  'os_compute_api:os-floating-ips:remove': 'member',
  'os_compute_api:os-floating-ips:show': 'reader',
  'os_compute_api:os-hosts:list': 'admin',
  'os_compute_api:os-hosts:reboot': 'admin',
  'os_compute_api:os-hosts:show': 'admin',
  'os_compute_api:os-hosts:shutdown': 'admin',
  'os_compute_api:os-hosts:start': 'admin',
  'os_compute_api:os-hosts:update': 'admin',
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
  'os_compute_api:os-instance-usage-audit-log:list': 'admin',
  'os_compute_api:os-instance-usage-audit-log:show': 'admin',
  'os_compute_api:os-keypairs:create': 'authenticated',
  'os_compute_api:os-keypairs:delete': 'authenticated',
  'os_compute_api:os-keypairs:index': 'authenticated',
  'os_compute_api:os-keypairs:show': 'authenticated',
  'os_compute_api:os-lock-server:lock': 'member',
  'os_compute_api:os-lock-server:unlock': 'member',
  'os_compute_api:os-lock-server:unlock:unlock_override': 'admin',
  'os_compute_api:os-migrate-server:migrate': 'admin',
  'os_compute_api:os-migrate-server:migrate:host': 'admin',
  'os_compute_api:os-migrate-server:migrate_live': 'admin',
  'os_compute_api:os-migrate-server:migrate_live:host': 'admin',
  'os_compute_api:os-migrations:index': 'admin',
  'os_compute_api:os-multinic:add': 'member',
  'os_compute_api:os-multinic:remove': 'member',
  'os_compute_api:os-networks:list': 'reader',
  'os_compute_api:os-networks:show': 'reader',
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
  'os_compute_api:os-security-groups:add': 'member',
  'os_compute_api:os-security-groups:create': 'member',
  'os_compute_api:os-security-groups:delete': 'member',
  'os_compute_api:os-security-groups:get': 'reader',
  'os_compute_api:os-security-groups:list': 'reader',
  'os_compute_api:os-security-groups:remove': 'member',
  'os_compute_api:os-security-groups:rule:create': 'member',
  'os_compute_api:os-security-groups:rule:delete': 'member',
  'os_compute_api:os-security-groups:show': 'reader',
  'os_compute_api:os-security-groups:update': 'member',
  'os_compute_api:os-remote-consoles': 'member',
  'os_compute_api:os-server-diagnostics': 'admin',
  'os_compute_api:os-server-external-events:create': 'service-or-admin',
  'os_compute_api:os-server-groups:create': 'member',
  'os_compute_api:os-server-groups:delete': 'member',
  'os_compute_api:os-server-groups:index': 'reader',
  'os_compute_api:os-server-groups:index:all_projects': 'admin',
  'os_compute_api:os-server-groups:show': 'reader',
  'os_compute_api:os-server-password:clear': 'member',
  'os_compute_api:os-server-password:show': 'reader',
  'os_compute_api:os-server-shares:create': 'member',
  'os_compute_api:os-server-shares:delete': 'member',
  'os_compute_api:os-server-shares:index': 'reader',
  'os_compute_api:os-server-shares:show': 'reader',
  'os_compute_api:os-server-tags:delete': 'member',
  'os_compute_api:os-server-tags:delete_all': 'member',
  'os_compute_api:os-server-tags:index': 'reader',
  'os_compute_api:os-server-tags:show': 'reader',
  'os_compute_api:os-server-tags:update': 'member',
  'os_compute_api:os-server-tags:update_all': 'member',
  'os_compute_api:os-services:delete': 'admin',
  'os_compute_api:os-services:list': 'admin',
  'os_compute_api:os-services:update': 'admin',
  'os_compute_api:os-simple-tenant-usage:list': 'admin',
  'os_compute_api:os-simple-tenant-usage:show': 'reader',
  'os_compute_api:os-suspend-server:resume': 'member',
  'os_compute_api:os-suspend-server:suspend': 'member',
  'os_compute_api:os-shelve:shelve': 'member',
  'os_compute_api:os-shelve:shelve_offload': 'admin',
  'os_compute_api:os-shelve:unshelve': 'member',
  'os_compute_api:os-shelve:unshelve_to_host': 'admin',
  'os_compute_api:os-tenant-networks:list': 'reader',
  'os_compute_api:os-tenant-networks:show': 'reader',
  'os_compute_api:os-unrescue': 'member',
  'os_compute_api:os-volumes-attachments:create': 'member',
  'os_compute_api:os-volumes-attachments:delete': 'member',
  'os_compute_api:os-volumes-attachments:index': 'reader',
  'os_compute_api:os-volumes-attachments:show': 'reader',
  'os_compute_api:os-volumes-attachments:swap': 'service-or-admin',
  'os_compute_api:os-volumes-attachments:update': 'member',
  'os_compute_api:os-volumes:create': 'member',
  'os_compute_api:os-volumes:delete': 'member',
  'os_compute_api:os-volumes:detail': 'reader',
  'os_compute_api:os-volumes:list': 'reader',
  'os_compute_api:os-volumes:show': 'reader',
  'os_compute_api:os-volumes:snapshots:create': 'member',
  'os_compute_api:os-volumes:snapshots:delete': 'member',
  'os_compute_api:os-volumes:snapshots:detail': 'reader',
  'os_compute_api:os-volumes:snapshots:list': 'reader',
  'os_compute_api:os-volumes:snapshots:show': 'reader',
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
  'os_compute_api:servers:migrations:delete': 'admin',
  'os_compute_api:servers:migrations:force_complete': 'admin',
  'os_compute_api:servers:migrations:index': 'admin',
  'os_compute_api:servers:migrations:show': 'admin',
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
  add_metadef_namespace: 'admin',
  add_metadef_object: 'admin',
  add_metadef_property: 'admin',
  add_metadef_resource_type_association: 'admin',
  add_metadef_tag: 'admin',
  add_metadef_tags: 'admin',
  delete_metadef_namespace: 'admin',
  delete_metadef_object: 'admin',
  delete_metadef_tag: 'admin',
  delete_metadef_tags: 'admin',
  get_metadef_namespace: 'reader',
  get_metadef_namespaces: 'reader',
  get_metadef_object: 'reader',
  get_metadef_objects: 'reader',
  get_metadef_properties: 'reader',
  get_metadef_property: 'reader',
  get_metadef_tag: 'reader',
  get_metadef_tags: 'reader',
  list_metadef_resource_types: 'reader',
  modify_metadef_namespace: 'admin',
  modify_metadef_object: 'admin',
  modify_metadef_property: 'admin',
  modify_metadef_tag: 'admin',
  remove_metadef_property: 'admin',
  remove_metadef_resource_type_association: 'admin',

  // Placement's; `…:other_project` is ours.
  'placement:allocation_candidates:list': 'service-or-admin',
  'placement:allocations:list': 'service-or-admin',
  'placement:resource_classes:list': 'service-or-admin',
  'placement:resource_classes:show': 'service-or-admin',
  'placement:resource_providers:aggregates:list': 'service-or-admin',
  'placement:resource_providers:aggregates:update': 'service-or-admin',
  'placement:resource_providers:allocations:list': 'service-or-admin',
  'placement:resource_providers:inventories:list': 'service-or-admin',
  'placement:resource_providers:inventories:show': 'service-or-admin',
  'placement:resource_providers:inventories:update': 'service-or-admin',
  'placement:resource_providers:list': 'service-or-admin',
  'placement:resource_providers:show': 'service-or-admin',
  'placement:resource_providers:traits:delete': 'service-or-admin',
  'placement:resource_providers:traits:list': 'service-or-admin',
  'placement:resource_providers:traits:update': 'service-or-admin',
  'placement:resource_providers:usages': 'service-or-admin',
  'placement:traits:delete': 'service-or-admin',
  'placement:traits:list': 'service-or-admin',
  'placement:traits:show': 'service-or-admin',
  'placement:traits:update': 'service-or-admin',
  'placement:usages': 'reader',
  'placement:usages:other_project': 'admin',
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

/**
 * Throws `forbidden` for a caller the rule does not allow. For rules that depend on the arguments of a request, not
 * only on the operation.
 */
export function enforce(caller: Caller, rule: string): void {
  if (!isAllowed(caller, rule)) throw refusal(rule)
}

function refusal(rule: string): Failure {
  return new Failure(
    'forbidden',
    rule.startsWith('identity:')
      ? `You are not authorized to perform the requested action: ${rule}.`
      : `Policy doesn't allow ${rule} to be performed.`,
  )
}

function whoMay(rule: string): Who {
  const who = POLICY[rule]
  if (who === undefined) throw new Error(`the policy table has no rule ${rule}`)
  return who
}
