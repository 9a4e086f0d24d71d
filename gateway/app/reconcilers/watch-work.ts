import type { NatsConnection } from '@nats-io/transport-node'
import type { Clock } from '#common/clock.ts'
import type { Executor, Transactional } from '#common/db/database.ts'
import type { Reconciler } from '#common/reconciler.ts'
import type { SagaEngine } from '#common/saga/engine.ts'
import { committedSubject } from '#openapi/wire.ts'
import { type WorkKind, waitingWork } from '../../db/waiting-work.ts'
import { throttle } from '../events/throttle.ts'

const EVERY_MS = 200
/** While nothing waits: a commit, of this gateway or another, makes it look at once. */
const IDLE_MS = 1_000
/** How often due work of each kind is looked for while some exists: most work waits for its time, or for a cell. */
const POLL_MS: Readonly<Record<WorkKind, number>> = {
  events: EVERY_MS,
  intents: 500,
  resizes: 1_000,
  kept: 1_000,
  snapshots: 1_000,
  operations: 500,
  volumes: 1_000,
  restarts: 1_000,
  sagas: 1_000,
}

export interface WatchOptions {
  readonly db: Executor
  readonly clock: Clock
  readonly sagas: Pick<SagaEngine<never>, 'lease' | 'hasLetGo'>
}

/** Wakes those who see to some kind of work where there is any: one question for all kinds costs a fraction of a question for each. */
export function watchWork(
  { db, clock, sagas }: WatchOptions,
  wake: Readonly<Record<WorkKind, () => void>>,
): Reconciler {
  const wokenAt = new Map<WorkKind, number>()
  let isIdle = false
  return {
    name: 'waiting work',
    get everyMs() {
      return isIdle ? IDLE_MS : EVERY_MS
    },
    round: async () => {
      const now = clock.elapsed()
      const waiting = new Set(await waitingWork(db, sagas.lease))
      if (sagas.hasLetGo) waiting.add('sagas')
      // Sagas at work count as sagas to be taken up.
      isIdle = [...waiting].every((kind) => kind === 'sagas')
      const due = [...waiting].filter((kind) => {
        return now - (wokenAt.get(kind) ?? Number.NEGATIVE_INFINITY) >= POLL_MS[kind]
      })
      for (const kind of due) {
        wokenAt.set(kind, now)
        wake[kind]()
      }
      return { woken: due.length }
    },
  }
}

export interface CommitsOptions {
  readonly db: Pick<Transactional, 'onCommit'>
  readonly nats: Pick<NatsConnection, 'subscribe' | 'publish' | 'isClosed'>
  readonly clock: Clock
}

/** Calls `look` after commits of any gateway, some times a second at most, until disposed. It may miss some. */
export function pollAfterCommits(
  { db, nats, clock }: CommitsOptions,
  poll: () => void,
): Disposable {
  const subscription = nats.subscribe(committedSubject(), { callback: poll })
  const notify = () => {
    if (!nats.isClosed()) nats.publish(committedSubject())
  }
  const stop = db.onCommit(throttle(notify, { clock, everyMs: EVERY_MS, burst: 1 }))
  return {
    [Symbol.dispose]: () => {
      stop()
      if (!nats.isClosed()) subscription.unsubscribe()
    },
  }
}
