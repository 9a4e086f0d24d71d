import { listInstanceActions } from './list-instance-actions.ts'
import { showInstanceAction } from './show-instance-action.ts'

export const instanceActionHandlers = { listInstanceActions, showInstanceAction }
