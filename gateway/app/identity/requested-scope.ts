import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { findDomainByName } from '../../db/identity/domains.ts'
import { findProjectByName } from '../../db/identity/projects.ts'
import type { DomainChoice, NamedChoice, ScopeRequest } from './login-request.ts'
import type { Scope } from './token-view.ts'

export const NO_SCOPE: Scope = { type: 'none', id: '' }
const SYSTEM_SCOPE: Scope = { type: 'system', id: '' }

/** The scope a login names: undefined when there is no such project or domain. Throws `invalid` when it says too little. */
export async function requestedScope(
  db: Executor,
  request: ScopeRequest,
): Promise<Scope | undefined> {
  if (request === 'unscoped' || request.unscoped !== undefined) return NO_SCOPE
  if (request.system !== undefined) return SYSTEM_SCOPE
  if (request.project !== undefined) return projectScope(db, request.project)
  if (request.domain !== undefined) return domainScope(db, request.domain)
  throw new Failure(
    'invalid',
    "auth.scope needs 'project', 'domain', 'system', 'OS-TRUST:trust' or 'unscoped'.",
  )
}

async function projectScope(
  db: Executor,
  { id, name, domain }: NamedChoice,
): Promise<Scope | undefined> {
  if (id !== undefined) return { type: 'project', id }
  if (name === undefined || (domain?.id === undefined && domain?.name === undefined))
    throw new Failure(
      'invalid',
      "auth.scope.project needs an 'id', or a 'name' and a 'domain' with 'id' or 'name'.",
    )
  const project = await findProjectByName(db, name, domain)
  return project === undefined ? undefined : { type: 'project', id: project.id }
}

async function domainScope(db: Executor, { id, name }: DomainChoice): Promise<Scope | undefined> {
  if (id !== undefined) return { type: 'domain', id }
  const domain = name === undefined ? undefined : await findDomainByName(db, name)
  return domain === undefined ? undefined : { type: 'domain', id: domain.id }
}
