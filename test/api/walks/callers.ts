import type { Who } from '#gateway/app/policy.ts'
import type { ApiClient } from '#test/env/api/client.ts'

const ROLES = ['admin', 'manager', 'member', 'reader', 'service', 'bystander'] as const
type Role = (typeof ROLES)[number]
const SCOPES = ['project', 'domain', 'system', 'none'] as const
type Scope = (typeof SCOPES)[number]

/** Somebody with one role in one scope. */
export interface Caller {
  readonly name: string
  readonly role: Role
  readonly scope: Scope
  readonly token: string
  /** Where those with a project have their role. */
  readonly projectId: string
}

const ID = '/identity/v3'
const PASSWORD = 'a long enough password'

/** What a role includes: those below it in the chain. */
const CHAIN: readonly Role[] = ['reader', 'member', 'manager', 'admin']
const has = (caller: Caller, role: Role) =>
  caller.role === role || CHAIN.indexOf(caller.role) > CHAIN.indexOf(role)
const isAdmin = ({ role, scope }: Caller) =>
  role === 'admin' && (scope === 'project' || scope === 'system')
const isIn = (caller: Caller, scope: Scope, role: Role) =>
  caller.scope === scope && CHAIN.includes(role) && CHAIN.includes(caller.role) && has(caller, role)

/** Who is meant, said again without the code under test. */
export const MAY: Readonly<Record<Who | 'manager' | 'nobody', (caller: Caller) => boolean>> = {
  nobody: () => false,
  authenticated: () => true,
  admin: isAdmin,
  manager: (caller) => isAdmin(caller) || isIn(caller, 'project', 'manager'),
  member: (caller) => isAdmin(caller) || isIn(caller, 'project', 'member'),
  'member-anywhere': (caller) =>
    isAdmin(caller) ||
    (['project', 'domain', 'system'] as const).some((scope) => isIn(caller, scope, 'member')),
  reader: (caller) => isAdmin(caller) || isIn(caller, 'project', 'reader'),
  'system-reader': (caller) => isAdmin(caller) || isIn(caller, 'system', 'reader'),
  'project-or-system-reader': (caller) =>
    isAdmin(caller) || isIn(caller, 'project', 'reader') || isIn(caller, 'system', 'reader'),
  'domain-reader': (caller) =>
    isAdmin(caller) || isIn(caller, 'system', 'reader') || isIn(caller, 'domain', 'reader'),
  'domain-manager': (caller) => isAdmin(caller) || isIn(caller, 'domain', 'manager'),
  service: (caller) => isAdmin(caller) || isService(caller) || isIn(caller, 'system', 'reader'),
  'service-or-admin': (caller) => isAdmin(caller) || isService(caller),
}

function isService({ role, scope }: Caller): boolean {
  return role === 'service' && scope !== 'none'
}

/** One caller for every role in every scope, and one whose token has no scope. */
export async function makeCallers(admin: ApiClient): Promise<readonly Caller[]> {
  const create = async (plural: string, fields: object) => {
    const key = plural.slice(0, -1)
    const { body } = await admin.post<Record<string, { id: string }>>(`${ID}/${plural}`, {
      [key]: fields,
    })
    return body[key]?.id ?? ''
  }
  const domain = await create('domains', { name: 'walked' })
  const project = await create('projects', { name: 'walked' })
  await create('roles', { name: 'bystander' })
  const { body } = await admin.get<{ roles: readonly { id: string; name: string }[] }>(
    `${ID}/roles`,
  )
  const targets = { project: `projects/${project}`, domain: `domains/${domain}`, system: 'system' }
  const scopes = {
    project: { project: { id: project } },
    domain: { domain: { id: domain } },
    system: { system: { all: true } },
    none: 'unscoped',
  }
  const callers: Caller[] = []
  for (const role of ROLES) {
    const user = await create('users', { name: `walked-${role}`, password: PASSWORD })
    const { id } = body.roles.find(({ name }) => name === role) ?? { id: '' }
    for (const target of Object.values(targets))
      await admin.put(`${ID}/${target}/users/${user}/roles/${id}`)
    for (const scope of SCOPES) {
      if (scope === 'none' && role !== 'admin') continue
      const token = await logIn(admin, user, scopes[scope])
      callers.push({ name: `${role} in ${scope}`, role, scope, token, projectId: project })
    }
  }
  return callers
}

async function logIn(client: ApiClient, id: string, scope: unknown): Promise<string> {
  const identity = { methods: ['password'], password: { user: { id, password: PASSWORD } } }
  const { headers } = await client.post(`${ID}/auth/tokens`, { auth: { identity, scope } })
  const token = headers['x-subject-token']
  if (token === undefined) throw new Error(`user ${id} cannot log in`)
  return token
}
