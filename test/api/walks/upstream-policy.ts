import { readFileSync } from 'node:fs'
import type { Who } from '#gateway/app/policy.ts'

/** A default of Nova, Keystone, Glance, Neutron, Cinder or Placement (August 2026), and which of our callers it means. */
interface UpstreamDefault {
  readonly check: string
  /** `manager`: like `member`, from the role above it. `nobody`: no caller, administrators included. */
  readonly who: Who | 'manager' | 'nobody'
  /** Who may where the thing is the caller's own, if that makes a difference. */
  readonly own?: Who
  readonly rules: readonly string[]
}

/** The callers that a rule allows instead of its upstream default, on purpose. */
interface Difference {
  readonly check: string
  readonly who: Who
  readonly own?: Who
  readonly why: string
  readonly rules: readonly string[]
}

const file = new URL('upstream-policy.json', import.meta.url)
const DEFAULTS = JSON.parse(readFileSync(file, 'utf8')) as readonly UpstreamDefault[]

const DIFFERENCES: readonly Difference[] = [
  {
    check: 'rule:context_is_admin',
    who: 'admin',
    why: 'Moving servers tells about hosts, which are no business of a project; so it was up to Nova 2025.1.',
    rules: [
      'os_compute_api:os-migrate-server:migrate',
      'os_compute_api:os-migrate-server:migrate_live',
      'os_compute_api:os-migrations:index',
      'os_compute_api:servers:migrations:delete',
      'os_compute_api:servers:migrations:force_complete',
      'os_compute_api:servers:migrations:index',
    ],
  },
  {
    check: 'rule:project_reader_or_admin',
    who: 'reader',
    why: 'Clients show users the limits of their own project.',
    rules: ['get_quota'],
  },
  {
    check: 'rule:project_reader_or_admin',
    who: 'reader',
    why: 'No service of another cloud asks our Placement.',
    rules: ['placement:usages'],
  },
  {
    check: 'rule:admin_required or user_id:%(target.user.id)s',
    who: 'admin',
    own: 'authenticated',
    why: 'An administrator is one in every scope.',
    rules: ['identity:delete_access_rule'],
  },
  {
    check:
      'rule:admin_required or (role:reader and system_scope:all) or user_id:%(target.user.id)s',
    who: 'system-reader',
    own: 'authenticated',
    why: 'An administrator is one in every scope.',
    rules: ['identity:get_access_rule', 'identity:list_access_rules'],
  },
  {
    check:
      'rule:admin_required or (role:reader and system_scope:all) or user_id:%(target.trust.trustor_user_id)s',
    who: 'system-reader',
    own: 'authenticated',
    why: 'Keystone has rules of their own for those of a trustor and of a trustee, which are one operation here.',
    rules: ['identity:list_trusts'],
  },
  {
    check: 'rule:admin_required or (role:reader and (system_scope:all or domain_id:%(domain_id)s))',
    who: 'domain-reader',
    why: 'A user who may read the grants of a domain also reads the names of the roles in them.',
    rules: [
      'identity:get_domain_role',
      'identity:get_role',
      'identity:list_domain_roles',
      'identity:list_roles',
    ],
  },
]

/** Rules that only we have, and why. */
export const OURS: Readonly<Record<string, string>> = {
  authenticated: 'what any token may',
  'cells_scheduler_filter:DifferentCellFilter': 'what the filter asked in Nova with cells v1',
  'cells_scheduler_filter:TargetCellFilter': 'what the filter asked in Nova with cells v1',
  get_quota_of_others: 'what Neutron decides in its code',
  get_tags: 'what Neutron asks of each kind of resource',
  update_tags: 'what Neutron asks of each kind of resource',
  'placement:usages:other_project': 'what Placement decides by its target',
}

/** Who a rule must allow: of others' things, and of one's own where that differs. */
export interface Expected {
  /** In the language of oslo.policy. */
  readonly check: string
  readonly who: Who | 'manager' | 'nobody'
  readonly own: Who | undefined
}

/** By the name of the rule. */
export const UPSTREAM: ReadonlyMap<string, Expected> = new Map([
  ...DEFAULTS.flatMap(({ rules, ...expected }) =>
    rules.map((rule): [string, Expected] => [rule, { own: undefined, ...expected }]),
  ),
  ...DIFFERENCES.flatMap(({ check, who, own, rules }) =>
    rules.map((rule): [string, Expected] => [rule, { check, who, own }]),
  ),
])
