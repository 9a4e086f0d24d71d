import { randomUUID } from 'node:crypto'
import { Failure } from '#common/errors.ts'
import type { ApplicationCredentialRef, DomainRef, NamedRef, RoleRef } from './token-view.ts'

/** Properties clients added beyond the known ones, by name. */
export type Extra = Readonly<Record<string, unknown>>

export interface Domain extends DomainRef {
  readonly description: string
  readonly enabled: boolean
  readonly immutable: boolean
}

export interface Project extends NamedRef {
  readonly description: string
  readonly enabled: boolean
  /** Enabled, and its domain, too. */
  readonly isActive: boolean
  /** Null right below the domain. */
  readonly parentId: string | null
  /** Ids of the projects above, the topmost first. */
  readonly ancestors: readonly string[]
  readonly immutable: boolean
  readonly tags: readonly string[]
  readonly extra: Extra
}

export interface UserOptions {
  readonly ignore_lockout_failure_attempts?: boolean
  readonly lock_password?: boolean
  readonly ignore_change_password_upon_first_use?: boolean
  readonly ignore_password_expiry?: boolean
  readonly ignore_user_inactivity?: boolean
  /** Absent: true. */
  readonly multi_factor_auth_enabled?: boolean
  /** Sets of methods, one of which a login must have used. */
  readonly multi_factor_auth_rules?: readonly (readonly string[])[]
}

/** A user as others may see it. */
export interface User extends NamedRef {
  readonly defaultProjectId: string | null
  readonly email: string | null
  readonly description: string
  readonly enabled: boolean
  /** Enabled, and its domain, too. */
  readonly isActive: boolean
  readonly options: UserOptions
  readonly extra: Extra
}

export interface Group extends NamedRef {
  readonly description: string
  readonly extra: Extra
}

export interface Role extends RoleRef {
  /** '' for a role of the whole cloud. */
  readonly domainId: string
  readonly description: string
  readonly immutable: boolean
  readonly extra: Extra
}

/** One user, or each member of one group, has one role on one target. */
export interface RoleAssignment {
  readonly actorType: 'user' | 'group'
  readonly actorId: string
  readonly targetType: 'project' | 'domain' | 'system'
  /** '' for the system. */
  readonly targetId: string
  readonly roleId: string
  /** True: it holds in the projects below the target, and not on the target. */
  readonly inherited: boolean
}

/** How a name is compared; `i…` ignores case. */
export interface NameMatch {
  readonly how:
    | 'equals'
    | 'contains'
    | 'icontains'
    | 'startswith'
    | 'istartswith'
    | 'endswith'
    | 'iendswith'
  readonly text: string
}

/** Which entries of a list: those that fit everything given. */
export interface ListFilter {
  readonly names?: readonly NameMatch[] | undefined
  readonly domainId?: string | undefined
  readonly enabled?: boolean | undefined
  readonly ids?: readonly string[] | undefined
  /** Only what comes after this id. */
  readonly marker?: string | undefined
}

/** A new id as Keystone's clients expect them: 32 hexadecimal digits. */
export function newKeystoneId(): string {
  return randomUUID().replaceAll('-', '')
}

/** In Keystone's words, which clients show as they are. */
export function noSuch(what: string, id: string): Failure {
  return new Failure('not-found', `Could not find ${what}: ${id}.`)
}

const EXTRA_MAX_CHARACTERS = 16_384

/** Properties of the client's own after a change: null takes one away. Throws `invalid` beyond 16 Ki characters. */
export function boundedExtra(before: Extra, change: Extra): Extra {
  const entries = Object.entries({ ...before, ...change }).filter(([, value]) => value !== null)
  const extra = Object.fromEntries(entries)
  if (JSON.stringify(extra).length > EXTRA_MAX_CHARACTERS)
    throw new Failure(
      'invalid',
      `The further properties have more than ${EXTRA_MAX_CHARACTERS} characters.`,
    )
  return extra
}

interface Protected {
  readonly id: string
  readonly immutable: boolean
}

/** Throws `forbidden` for a change of something immutable, except one that ends its being so. */
export function refuseChange(what: string, { id, immutable }: Protected, becomes: boolean): void {
  if (immutable && becomes) throw refusal('update', what, id)
}

/** Throws `forbidden` for an immutable object. */
export function refuseDelete(what: string, { id, immutable }: Protected): void {
  if (immutable) throw refusal('delete', what, id)
}

function refusal(verb: string, what: string, id: string): Failure {
  return new Failure(
    'forbidden',
    `Unable to ${verb} immutable ${what} resource: ${id}. Set resource option "immutable" to false first.`,
  )
}

/** A time as clients of Keystone write it, in UTC unless it has a zone. Throws `invalid`, naming the field. */
export function parseKeystoneTime(text: string, field: string): Date {
  const hasZone = /(?:Z|[+-]\d{2}:?\d{2})$/.test(text)
  const time = new Date(hasZone ? text : `${text}Z`)
  if (Number.isNaN(time.getTime()))
    throw new Failure('invalid', `'${field}' is not a time: write it like 2030-01-31T12:00:00.`)
  return time
}

/** A secret that authenticates one user in one project, with some of the user's roles there. */
export interface ApplicationCredential extends Omit<ApplicationCredentialRef, 'accessRules'> {
  readonly userId: string
  readonly projectId: string
  readonly description: string | null
  readonly secretHash: string
  readonly roleIds: readonly string[]
  /** The only requests it may make; null: any. */
  readonly accessRuleIds: readonly string[] | null
  readonly expiresAt: Date | null
  readonly createdAt: Date
}
