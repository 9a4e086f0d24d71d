import type { Handlers } from '../../../http/operation.ts'
import { listInstanceActions } from './list-instance-actions.ts'
import { showInstanceAction } from './show-instance-action.ts'

export const instanceActionHandlers: Handlers = { listInstanceActions, showInstanceAction }
