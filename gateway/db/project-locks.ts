import { sql } from 'drizzle-orm'
import type { Tx } from '#common/db/database.ts'
import { projectLocks } from './schema/resources.ts'

/** What is counted while a project is locked for it. */
export type CountedResource = 'images' | 'webhooks'

/**
 * Until the transaction ends no other one holds this lock of the project, so that counting what the project has and adding
 * to it are one. The projects of an external Keystone have no other row to lock.
 */
export async function lockProject(
  tx: Tx,
  projectId: string,
  resource: CountedResource,
): Promise<void> {
  await tx.orm
    .insert(projectLocks)
    .values({ projectId, resource, lockVersion: 0 })
    .onDuplicateKeyUpdate({ set: { lockVersion: sql`${projectLocks.lockVersion} + 1` } })
}
