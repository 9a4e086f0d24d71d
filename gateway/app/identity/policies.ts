import type { Executor } from '#common/db/database.ts'
import {
  deletePolicy,
  insertPolicy,
  listPolicies,
  replacePolicy,
  type StoredPolicy,
} from '../../db/identity/policies.ts'
import type { Identity } from './identity.ts'
import { type ListQuery, readPage } from './list-query.ts'
import type { Listed } from './listed.ts'
import { boundedExtra, newKeystoneId, noSuch } from './model.ts'

/** Stored for services that look their rules up in Keystone; they have no effect here, nor in Keystone. */
export function allPolicies({ db }: Identity, query: ListQuery): Promise<Listed<StoredPolicy>> {
  return readPage(query, (filter, limit) => listPolicies(db, filter, limit))
}

/** Throws `not-found`. */
export async function onePolicy(
  { db }: { readonly db: Executor },
  id: string,
): Promise<StoredPolicy> {
  const [policy] = await listPolicies(db, { ids: [id] }, 1)
  if (policy === undefined) throw noSuch('policy', id)
  return policy
}

/** Afterwards the policy is stored under a new id. */
export async function createPolicy(
  { db }: Identity,
  asked: Omit<StoredPolicy, 'id'>,
): Promise<StoredPolicy> {
  const policy = { ...asked, id: newKeystoneId(), extra: boundedExtra({}, asked.extra) }
  await insertPolicy(db, policy)
  return policy
}

/** Afterwards the policy is as given; fields not given stay. */
export async function changePolicy(
  { db }: Identity,
  id: string,
  change: Partial<Omit<StoredPolicy, 'id'>>,
): Promise<StoredPolicy> {
  return db.transaction(async (tx) => {
    const before = await onePolicy({ db: tx }, id)
    const after = { ...before, ...change, extra: boundedExtra(before.extra, change.extra ?? {}) }
    await replacePolicy(tx, after)
    return after
  })
}

/** Afterwards there is no such policy; throws `not-found` when that was so before. */
export async function removePolicy({ db }: Identity, id: string): Promise<void> {
  if (!(await deletePolicy(db, id))) throw noSuch('policy', id)
}
