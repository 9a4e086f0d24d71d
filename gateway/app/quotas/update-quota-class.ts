import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { setClassLimits } from '../../db/quota-limits.ts'
import { quotaClassLimits } from './quota-limits.ts'
import type { QuotaLimits } from './resources.ts'
import { wantedLimits } from './update-quota.ts'

const NAME_LENGTH_MAX = 255

/**
 * Afterwards the class has the new limits; those not named stay. The class `default` holds for every project. Throws
 * `invalid` for a name that is too long.
 */
export async function updateQuotaClass(
  db: Executor,
  className: string,
  limits: Partial<QuotaLimits>,
): Promise<QuotaLimits> {
  if (className.length > NAME_LENGTH_MAX)
    throw new Failure('invalid', `quota_class_name has more than ${NAME_LENGTH_MAX} characters.`)
  await setClassLimits(db, className, wantedLimits(limits))
  return quotaClassLimits(db, className)
}
