import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import { takeDeleteKey } from './app/delete-once.ts'
import { ReachWatch, type ReachWatchOptions } from './app/reach.ts'
import { noteChange } from './app/repeatable.ts'
import type { GatewayConfig } from './config.ts'

/** A connection on which a probe gets no answer is replaced after this time. */
const PROBE_LIMIT_MS = 1_500

/** The global database, in which transactions leave a mark of their commit. */
export function openDatabase(config: GatewayConfig, connectionsMax: number): Database {
  const { databaseUrl: url, databaseRetryMs: retryMs } = config
  return new Database({
    url,
    connectionsMax,
    retryMs,
    marksCommits: true,
    beforeCommit: (tx) => {
      noteChange()
      takeDeleteKey(tx)
    },
  })
}

/** Afterwards this gateway knows whether it reaches its database and the bus. */
export function watchReach(
  parts: AsyncDisposableStack,
  config: GatewayConfig,
  given: Pick<ReachWatchOptions, 'reach' | 'db' | 'nats' | 'log' | 'compute'>,
): ReachWatch {
  const { databaseUrl: url } = config
  const probed = parts.use(
    new Database({ url, connectionsMax: 1, responseTimeoutMs: PROBE_LIMIT_MS }),
  )
  return parts.use(new ReachWatch({ ...given, probed, clock: systemClock }))
}
