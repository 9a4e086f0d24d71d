import { eq } from 'drizzle-orm'
import type { Executor, Tx } from '#common/db/database.ts'
import { isDuplicate } from '#common/db/failures.ts'
import { autoAllocatedTopologies } from './schema/routing.ts'

/** What was made for a project that asked for some network. */
export interface AutoTopology {
  readonly projectId: string
  readonly networkId: string
  readonly routerId: string
}

export async function findAutoTopology(
  db: Executor,
  projectId: string,
): Promise<AutoTopology | undefined> {
  const { projectId: project } = autoAllocatedTopologies
  const [row] = await db.orm.select().from(autoAllocatedTopologies).where(eq(project, projectId))
  return row
}

/** Afterwards the project has this topology; false, and it has not, when it has another, which is committed by then. */
export async function insertAutoTopology(tx: Tx, topology: AutoTopology): Promise<boolean> {
  try {
    await tx.orm.insert(autoAllocatedTopologies).values(topology)
    return true
  } catch (error) {
    if (isDuplicate(error)) return false
    throw error
  }
}
