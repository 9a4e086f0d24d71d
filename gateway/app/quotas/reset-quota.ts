import type { Executor } from '#common/db/database.ts'
import { deleteProjectLimits } from '../../db/quota-limits.ts'
import type { Caller } from '../request-context.ts'
import { checkQuotaProject } from './quota-project.ts'

/** Afterwards the default limits hold for the project. */
export async function resetQuota(
  db: Executor,
  caller: Pick<Caller, 'isAdmin' | 'projectId'>,
  projectId: string,
): Promise<void> {
  await checkQuotaProject(db, caller, projectId)
  await deleteProjectLimits(db, projectId)
}
