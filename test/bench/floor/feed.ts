import type { NatsConnection } from '@nats-io/transport-node'
import type { Database } from '#common/db/database.ts'
import { GATEWAY_SQL } from './sql.ts'

interface Change {
  readonly id: string
  readonly state: string
}

/** Stores the changes that cells publish; changes received while one batch commits go into the next. */
export function applyFeed(nats: NatsConnection, db: Database, project: string): void {
  let received: Change[] = []
  let isApplying = false
  const apply = async () => {
    isApplying = true
    while (received.length > 0) {
      const batch = received
      received = []
      await db.transaction(async (tx) => {
        for (const { id, state } of batch) {
          await tx.run(GATEWAY_SQL.setState, { id, state })
          if (state !== 'deleted') continue
          await tx.run(GATEWAY_SQL.dropMapping, { id })
          await tx.run(GATEWAY_SQL.refund, { project })
        }
      })
    }
    isApplying = false
  }
  nats.subscribe('floor.feed', {
    callback: (_error, message) => {
      received.push(...message.json<Change[]>())
      if (!isApplying) void apply()
    },
  })
}
