import type { NatsConnection } from '@nats-io/transport-node'

const waiting = new WeakMap<NatsConnection, Set<() => void>>()

/**
 * Runs `work` whenever the connection, which `connectBus` has made, was lost and is back: what was sent before may be
 * lost too. Returns how to end that.
 */
export function afterLoss(nats: NatsConnection, work: () => void): () => void {
  const all = waiting.get(nats) ?? new Set()
  waiting.set(nats, all.add(work))
  return () => {
    all.delete(work)
  }
}

/** The connection was lost and is back: afterwards all work that waits for this has run. */
export function runAfterLoss(nats: NatsConnection): void {
  for (const work of [...(waiting.get(nats) ?? [])]) work()
}
