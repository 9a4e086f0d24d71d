import { createLimits } from './create-limits.ts'
import { createRegisteredLimits } from './create-registered-limits.ts'
import { deleteLimit } from './delete-limit.ts'
import { deleteRegisteredLimit } from './delete-registered-limit.ts'
import { listLimits } from './list-limits.ts'
import { listRegisteredLimits } from './list-registered-limits.ts'
import { showLimit } from './show-limit.ts'
import { showLimitModel } from './show-limit-model.ts'
import { showRegisteredLimit } from './show-registered-limit.ts'
import { updateLimit } from './update-limit.ts'
import { updateRegisteredLimit } from './update-registered-limit.ts'

/** What openapi/identity/limits.yaml describes. */
export const limitHandlers = {
  createLimits,
  createRegisteredLimits,
  deleteLimit,
  deleteRegisteredLimit,
  listLimits,
  listRegisteredLimits,
  showLimit,
  showLimitModel,
  showRegisteredLimit,
  updateLimit,
  updateRegisteredLimit,
}
