import { deleteQuotaSet } from './delete-quota-set.ts'
import { showLimits } from './show-limits.ts'
import { showQuotaClassSet } from './show-quota-class-set.ts'
import { showQuotaSet } from './show-quota-set.ts'
import { showQuotaSetDefaults } from './show-quota-set-defaults.ts'
import { showQuotaSetDetail } from './show-quota-set-detail.ts'
import { updateQuotaClassSet } from './update-quota-class-set.ts'
import { updateQuotaSet } from './update-quota-set.ts'

export const quotaHandlers = {
  deleteQuotaSet,
  showLimits,
  showQuotaClassSet,
  showQuotaSet,
  showQuotaSetDefaults,
  showQuotaSetDetail,
  updateQuotaClassSet,
  updateQuotaSet,
}
