import { Failure } from '#common/errors.ts'
import { deleteAccessRule, listAccessRules } from '../../db/identity/access-rules.ts'
import { isRuleUsed } from '../../db/identity/application-credentials.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import type { AccessRule } from './access-rule.ts'
import { refuseDelegated } from './application-credentials.ts'
import type { Identity } from './identity.ts'
import { type Listed, listed, readLimit } from './listed.ts'
import { noSuch } from './model.ts'

/** The access rules of the caller, or of any user for callers who may see those. */
export async function accessRulesOf(
  { db }: Identity,
  caller: Caller,
  userId: string,
  { limit, marker }: { readonly limit?: number | undefined; readonly marker?: string | undefined },
): Promise<Listed<AccessRule>> {
  if (userId !== caller.userId) enforce(caller, 'identity:list_access_rules:other')
  refuseDelegated(caller)
  return listed(await listAccessRules(db, userId, { marker }, readLimit(limit)), limit)
}

/** Throws `not-found`, and `forbidden` for another user's rule or a delegated token. */
export async function oneAccessRule(
  { db }: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<AccessRule> {
  if (userId !== caller.userId) enforce(caller, 'identity:get_access_rule:other')
  refuseDelegated(caller)
  const [rule] = await listAccessRules(db, userId, { ids: [id] }, 1)
  if (rule === undefined) throw noSuch('access rule', id)
  return rule
}

/** Afterwards there is no such rule. Throws `forbidden` while a credential uses it. */
export async function removeAccessRule(
  { db }: Identity,
  caller: Caller,
  userId: string,
  id: string,
): Promise<void> {
  if (userId !== caller.userId) enforce(caller, 'identity:delete_access_rule:other')
  refuseDelegated(caller)
  await db.transaction(async (tx) => {
    if (await isRuleUsed(tx, userId, id))
      throw new Failure('forbidden', 'The access rule is in use by an application credential.')
    if (!(await deleteAccessRule(tx, userId, id))) throw noSuch('access rule', id)
  })
}
