import type { Handlers } from '../../../http/operation.ts'
import { listAggregates } from './list-aggregates.ts'

export const aggregateHandlers: Handlers = { listAggregates }
