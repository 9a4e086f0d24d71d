import type { Transactional } from '#common/db/database.ts'
import { Failure, isFailure } from '#common/errors.ts'
import { newId } from '#common/ids.ts'
import type { GroupPolicy } from '#openapi/wire/instance.ts'
import { insertServerGroup, type ServerGroup } from '../../db/server-groups.ts'
import { chargeQuota } from '../quotas/charge-quota.ts'
import type { Caller } from '../request-context.ts'

export interface NewServerGroup {
  readonly name: string
  readonly policy: GroupPolicy
  readonly maxPerHost: number | null
}

/** Throws `over-quota`, and `invalid` for a rule that the policy does not have. */
export async function createServerGroup(
  db: Transactional,
  { projectId, userId }: Pick<Caller, 'projectId' | 'userId'>,
  asked: NewServerGroup,
): Promise<ServerGroup> {
  if (projectId === null) throw new Failure('forbidden', 'This needs a token for a project.')
  if (asked.maxPerHost !== null && asked.policy !== 'anti-affinity')
    throw new Failure('invalid', 'Only anti-affinity policy supports rules.')
  const group = { id: newId<string>(), projectId, userId, ...asked }
  await db.transaction(async (tx) => {
    await insertServerGroup(tx, group)
    try {
      await chargeQuota(tx, { projectId, userId }, { server_groups: 1 })
    } catch (error) {
      if (!isFailure(error, 'over-quota')) throw error
      throw new Failure('over-quota', 'Quota exceeded, too many server groups.')
    }
  })
  return { ...group, cellId: null, members: [] }
}
