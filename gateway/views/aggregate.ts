import type { Aggregate } from '../db/aggregates.ts'
import { plainTime } from './time.ts'

/** An aggregate as it is named when it is made. */
export function newAggregateView({ id, uuid, name, metadata, createdAt, updatedAt }: Aggregate) {
  return {
    id,
    uuid,
    name,
    availability_zone: metadata['availability_zone'] ?? null,
    created_at: plainTime(createdAt),
    updated_at: updatedAt === null ? null : plainTime(updatedAt),
    deleted: false,
    deleted_at: null,
  }
}

/** An aggregate at its widest. */
export function aggregateView(aggregate: Aggregate) {
  return {
    ...newAggregateView(aggregate),
    hosts: aggregate.hosts.map(({ name }) => name),
    metadata: aggregate.metadata,
  }
}
