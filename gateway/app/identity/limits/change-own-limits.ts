import { Failure } from '#common/errors.ts'
import { findDomain } from '../../../db/identity/domains.ts'
import {
  deleteOwnLimit,
  findOwnLimit,
  insertOwnLimit,
  updateOwnLimit,
} from '../../../db/identity/own-limits.ts'
import { findProject } from '../../../db/identity/projects.ts'
import { lockRegisteredLimit } from '../../../db/identity/registered-limits.ts'
import type { Identity } from '../identity.ts'
import { newKeystoneId } from '../model.ts'
import { expectKnown } from './expect-known.ts'
import type { LimitOwner, OwnLimit } from './limit.ts'
import { noSuchLimit } from './read-limits.ts'

/**
 * Afterwards all of the limits hold, or none. Throws `invalid` for an owner that does not exist, `forbidden` for a
 * resource without a registered limit, `conflict` for a resource that the owner has a limit of.
 */
export async function createOwnLimits(
  identity: Identity,
  asked: readonly Omit<OwnLimit, 'id'>[],
): Promise<readonly OwnLimit[]> {
  for (const { owner } of asked) await expectOwner(identity, owner)
  const made = asked.map((limit) => ({ ...limit, id: newKeystoneId() }))
  await identity.db.transaction(async (tx) => {
    for (const limit of made) {
      const registeredId = await lockRegisteredLimit(tx, limit.resource)
      if (registeredId === undefined)
        throw new Failure(
          'forbidden',
          'Unable to create a limit that has no corresponding registered limit.',
        )
      if (!(await insertOwnLimit(tx, registeredId, limit)))
        throw new Failure(
          'conflict',
          'Conflict occurred attempting to store limit - Duplicate entry.',
        )
    }
  })
  return made
}

/** Throws `not-found`. */
export async function changeOwnLimit(
  { db }: Identity,
  id: string,
  change: Partial<Pick<OwnLimit, 'resourceLimit' | 'description'>>,
): Promise<OwnLimit> {
  await updateOwnLimit(db, id, change)
  const changed = await findOwnLimit(db, id)
  if (changed === undefined) throw noSuchLimit(id)
  return changed
}

/** Throws `not-found`. */
export async function removeOwnLimit({ db }: Identity, id: string): Promise<void> {
  if (!(await deleteOwnLimit(db, id))) throw noSuchLimit(id)
}

async function expectOwner({ db }: Identity, { type, id }: LimitOwner): Promise<void> {
  const owner = type === 'project' ? await findProject(db, id) : await findDomain(db, id)
  expectKnown(owner !== undefined, `${type}_id`, 'limit')
}
