import type { Executor } from '#common/db/database.ts'
import { setClassLimits } from '../../db/quota-limits.ts'
import { quotaClassLimits } from './quota-limits.ts'
import type { QuotaLimits } from './resources.ts'
import { wantedLimits } from './update-quota.ts'

/** Afterwards the class has the new limits; those not named stay. The class `default` holds for every project. */
export async function updateQuotaClass(
  db: Executor,
  className: string,
  limits: Partial<QuotaLimits>,
): Promise<QuotaLimits> {
  await setClassLimits(db, className, wantedLimits(limits))
  return quotaClassLimits(db, className)
}
