import { innerSubject } from '#openapi/wire.ts'
import type { Conductor } from '../conductor/conductor.ts'

/** The cell's other processes look at the hosts again: a second is long for one that was just disabled. */
export function notifySiblings({ nats, cellId }: Pick<Conductor, 'nats' | 'cellId'>): void {
  if (!nats.isClosed()) nats.publish(innerSubject(cellId, 'hosts-changed'))
}
