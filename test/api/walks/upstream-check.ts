import type { Caller } from '#gateway/app/request-context.ts'

/** Whether the thing asked for is of the caller's user or project, or of another of the same domain. */
export type Target = 'own' | 'foreign'

/** The rules that the defaults refer to, as each service defines them. */
const NAMED: Readonly<Record<string, string>> = {
  // Keystone.
  admin_required: 'is_admin:True',
  admin_or_owner: 'rule:admin_required or rule:owner',
  owner: 'user_id:%(user_id)s',
  token_subject: 'user_id:%(target.token.user_id)s',
  service_role: 'role:service',
  domain_managed_target_role: 'domain_id:%(target.domain.id)s',
  // Nova, Glance, Placement.
  context_is_admin: 'is_admin:True',
  default: 'is_admin:True',
  project_reader_or_admin: 'rule:context_is_admin or (role:reader and project_id:%(project_id)s)',
  project_member_or_admin: 'rule:context_is_admin or (role:member and project_id:%(project_id)s)',
  project_manager_or_admin: 'rule:context_is_admin or (role:manager and project_id:%(project_id)s)',
  service_or_admin: 'role:service or is_admin:True',
  admin_or_service_api: 'is_admin:True or role:service',
  admin_or_project_reader_or_service_api:
    'rule:admin_or_service_api or (role:reader and project_id:%(project_id)s)',
  // Cinder.
  admin_api: 'is_admin:True',
  xena_system_admin_or_project_member:
    'rule:admin_api or (role:member and project_id:%(project_id)s)',
  xena_system_admin_or_project_reader:
    'rule:admin_api or (role:reader and project_id:%(project_id)s)',
  // Neutron. No other service of a cloud asks our Network API, and what other projects share is not the caller's own.
  admin_only: 'is_admin:True',
  service_api: '!',
  context_is_advsvc: '!',
  network_owner: 'project_id:%(network:project_id)s',
  ext_parent_owner: 'project_id:%(ext_parent:project_id)s',
  sg_owner: 'project_id:%(security_group:project_id)s',
  shared: '!',
  shared_security_group: '!',
  shared_subnetpools: '!',
  shared_address_scopes: '!',
  external: '!',
  external_network: '!',
}

/** Evaluates a check of oslo.policy: `@` and '' allow, `!` refuses, `not` binds closest, then `and`, then `or`. Throws an Error for a rule it does not know. */
export function isAllowedUpstream(check: string, caller: Caller, target: Target): boolean {
  const tokens = check.match(/[()]|[^\s()%]+(?:%\([^)]*\)s)?/g) ?? []
  let next = 0
  const any = (): boolean => {
    let value = every()
    while (tokens[next] === 'or') {
      next += 1
      value = every() || value
    }
    return value
  }
  const every = (): boolean => {
    let value = one()
    while (tokens[next] === 'and') {
      next += 1
      value = one() && value
    }
    return value
  }
  const one = (): boolean => {
    const token = tokens[next++] ?? '@'
    if (token === 'not') return !one()
    if (token !== '(') return holds(token, caller, target)
    const value = any()
    if (tokens[next++] !== ')') throw new Error(`a bracket is open: ${check}`)
    return value
  }
  const value = any()
  if (next < tokens.length) throw new Error(`the check ends before ${tokens[next]}: ${check}`)
  return value
}

function holds(token: string, caller: Caller, target: Target): boolean {
  if (token === '@') return true
  if (token === '!') return false
  const [kind = '', match = ''] = token.split(/:(.*)/s)
  // Keystone's things: whether one is the caller's is decided where it is read, so that a rule need only leave it open.
  const isKeystones = match.startsWith('%(target.')
  switch (kind) {
    case 'rule':
      return isAllowedUpstream(namedRule(match), caller, target)
    case 'is_admin':
      return caller.isAdmin
    case 'role':
      return caller.roles.has(match)
    case 'system_scope':
      return caller.isSystemScoped
    case 'user_id':
    case 'token.project.domain.id':
      return target === 'own'
    case 'token.domain.id':
      return target === 'own' || caller.domainId !== null
    case 'project_id':
      return target === 'own' && (isKeystones || caller.projectId !== null)
    case 'domain_id':
      return match === 'None' ? caller.domainId === null : caller.domainId !== null
    default:
      // `None:` and the visibilities of images speak of things that are of no project or of others'.
      return false
  }
}

function namedRule(name: string): string {
  const check = NAMED[name]
  if (check === undefined) throw new Error(`no service has a rule ${name}`)
  return check
}
