import type { Executor, Tx } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { assignedRoleIds } from '../../db/identity/assigned-roles.ts'
import { lockProject } from '../../db/identity/projects.ts'
import { listRoles, roleModel } from '../../db/identity/roles.ts'
import {
  countTrusts,
  deleteTrust,
  findTrust,
  insertTrust,
  listTrusts,
  lockTrust,
  type TrustFilter,
  trustChain,
} from '../../db/identity/trusts.ts'
import { lockUser } from '../../db/identity/users.ts'
import { enforce, isAllowed } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { changeAccess } from './change-access.ts'
import { type RoleChoice, reachedRoles } from './effective-assignments.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, READ_MAX, readLimit } from './listed.ts'
import { newKeystoneId, noSuch, type Role } from './model.ts'
import { firstRedelegations, isUsable, type NewTrust, redelegated, type Trust } from './trust.ts'

/** A program that makes one per run must not fill the table. */
const OF_A_USER_MAX = 1_000

export interface TrustRequest extends Omit<NewTrust, 'id' | 'roleIds'> {
  readonly roles: readonly RoleChoice[]
}

/** A trust with its roles. */
export interface FullTrust extends Trust {
  readonly roles: readonly Role[]
}

/**
 * Afterwards the trustee can get tokens with those roles of the trustor. Trustors make theirs themselves; a token that was lent by
 * a trust gives that one on, and one that was lent in another way makes none (keystone/api/trusts.py: `_check_delegated_token`).
 * Throws `forbidden`, `invalid`, and `not-found` for a user, project or role that is not there or not the trustor's.
 */
export async function createTrust(
  identity: Identity,
  caller: Caller,
  asked: TrustRequest,
): Promise<FullTrust> {
  if (asked.trustorUserId !== caller.userId)
    throw new Failure('forbidden', 'The authenticated user should match the trustor')
  refuseDelegated(caller)
  if (asked.projectId !== null && asked.roles.length === 0)
    throw new Failure('forbidden', 'At least one role should be specified')
  if (!isUsable(asked, new Date(identity.clock.now())))
    throw new Failure('invalid', "'expires_at' must be in the future.")

  return identity.db.transaction(async (tx) => {
    // Neither of the two goes until the trust is there to go with them. In the order of ids, so that no two wait for each other.
    for (const id of [asked.trustorUserId, asked.trusteeUserId].toSorted())
      if ((await lockUser(tx, id)) === undefined) throw noSuch('user', id)
    if ((await countTrusts(tx, asked.trustorUserId)) >= OF_A_USER_MAX)
      throw new Failure('over-quota', `A user gives at most ${OF_A_USER_MAX} trusts.`)
    const chain = await givenOn(tx, caller)
    const roles = await delegatedRoles(tx, caller, asked, chain.at(-1)?.trustorUserId)
    const wanted = { ...asked, id: newKeystoneId(), roleIds: roles.map(({ id }) => id) }
    const { roles: _, allowRedelegation: __, ...rest } = wanted
    const trust: Trust = {
      ...rest,
      redelegatedTrustId: caller.trustId,
      ...limitsOf(wanted, chain),
      createdAt: new Date(identity.clock.now()),
    }
    await insertTrust(tx, trust)
    return { ...trust, roles }
  })
}

/** The trust by which the caller's token was lent, which stays until the transaction ends, and those before it; empty where none was. */
async function givenOn(tx: Tx, { trustId }: Caller): Promise<readonly Trust[]> {
  if (trustId === null) return []
  const chain = (await lockTrust(tx, trustId)) ? await trustChain(tx, trustId) : []
  if (chain.length === 0) throw noSuch('trust', trustId)
  return chain
}

function limitsOf(
  wanted: NewTrust,
  [by]: readonly Trust[],
): Pick<Trust, 'expiresAt' | 'redelegationCount'> {
  if (by !== undefined) return redelegated(by, wanted)
  return { expiresAt: wanted.expiresAt, redelegationCount: firstRedelegations(wanted) }
}

/** The roles chosen, which the first trustor must have in the project, and an application credential's token, too. */
async function delegatedRoles(
  tx: Tx,
  caller: Caller,
  { projectId, roles: chosen, trustorUserId }: TrustRequest,
  firstTrustor = trustorUserId,
): Promise<readonly Role[]> {
  if (projectId !== null && (await lockProject(tx, projectId)) === undefined)
    throw noSuch('project', projectId)
  const model = await roleModel(tx)
  const scope = { type: 'project', id: projectId ?? '' } as const
  const assigned = projectId === null ? [] : await assignedRoleIds(tx, firstTrustor, scope)
  const owned = reachedRoles(model, assigned)
  const roles = chosen.map(({ id, name }) => {
    const meant = model.roles.filter((it) =>
      id === undefined ? it.name === name && it.domainId === '' : it.id === id,
    )
    const role = meant.find((it) => owned.has(it.id))
    if (role === undefined || !isDelegable(caller, projectId, role))
      throw noSuch('role', id ?? name ?? '')
    return role
  })
  return [...new Set(roles)]
}

/** An application credential leads to no more than its own roles in its own project. */
function isDelegable(caller: Caller, projectId: string | null, { name }: Role): boolean {
  if (caller.applicationCredentialId === null) return true
  return projectId === caller.projectId && caller.roles.has(name)
}

/** The trusts of a trustor or a trustee, who may see their own; all trusts for callers who may see all. */
export async function trustsSeenBy(
  { db }: Identity,
  caller: Caller,
  { limit, ...filter }: TrustFilter & { readonly limit?: number | undefined },
): Promise<Listed<Trust>> {
  refuseDelegated(caller)
  const whose = filter.trustorUserId ?? filter.trusteeUserId
  if (whose !== caller.userId) enforce(caller, 'identity:list_trusts:other')
  return listed(await listTrusts(db, filter, readLimit(limit)), limit)
}

/** Throws `not-found` also for a trust between others, for an expired one, and for one that was used up. */
export async function oneTrust(
  { db, clock }: Identity,
  caller: Caller,
  id: string,
  othersRule = 'identity:get_trust:other',
): Promise<FullTrust> {
  refuseDelegated(caller)
  const trust = await findTrust(db, id)
  const isParty = caller.userId === trust?.trustorUserId || caller.userId === trust?.trusteeUserId
  const isSeen = isParty || isAllowed(caller, othersRule)
  if (trust === undefined || !isSeen || !isUsable(trust, new Date(clock.now())))
    throw noSuch('trust', id)
  return { ...trust, roles: await rolesOf(db, trust) }
}

/** Throws `not-found` for a role that the trust does not lend. */
export async function oneRoleOfTrust(
  identity: Identity,
  caller: Caller,
  id: string,
  roleId: string,
): Promise<Role> {
  const { roles } = await oneTrust(identity, caller, id, 'identity:get_role_for_trust:other')
  const role = roles.find((it) => it.id === roleId)
  if (role === undefined) throw noSuch('role', roleId)
  return role
}

/** Afterwards neither the trust is there, nor any that was given on by it, and no token of them is valid. */
export async function removeTrust(identity: Identity, caller: Caller, id: string): Promise<void> {
  const trust = await oneTrust(identity, caller, id, 'identity:delete_trust:other')
  if (trust.trustorUserId !== caller.userId) enforce(caller, 'identity:delete_trust:other')
  await changeAccess(identity, (tx) => deleteTrust(tx, id))
}

async function rolesOf(db: Executor, { roleIds }: Trust): Promise<readonly Role[]> {
  return listRoles(db, { ids: roleIds }, READ_MAX)
}

function refuseDelegated({ mayDelegate, trustId }: Caller): void {
  if (!mayDelegate && trustId === null)
    throw new Failure(
      'forbidden',
      'A token of a restricted application credential or of an access key cannot see, create or delete trusts.',
    )
}
