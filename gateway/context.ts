import { Database } from '#common/db/database.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { createIdentity, type Identity } from './app/identity/identity.ts'
import type { GatewayConfig } from './config.ts'
import { createMetrics, type Metrics } from './metrics.ts'
import { readVersion } from './version.ts'

/** Everything a gateway is made of, built once by hand. Several may live in one process. */
export interface Gateway extends AsyncDisposable {
  readonly config: GatewayConfig
  readonly log: Logger
  readonly metrics: Metrics
  /** Of this software, as in package.json. */
  readonly version: string
  readonly db: Database
  readonly identity: Identity
}

/** Afterwards every part runs; disposing it stops them in the reverse order. The database must be migrated. */
export async function createGateway(config: GatewayConfig): Promise<Gateway> {
  await using parts = new AsyncDisposableStack()
  const log = createLogger('gateway', config.logLevel)
  const metrics = createMetrics()
  const db = parts.use(
    new Database({ url: config.databaseUrl, connectionsMax: config.databaseConnections }),
  )
  const identity = parts.use(
    createIdentity({ db, log, region: config.region, tokenLifetimeS: config.tokenLifetimeS }),
  )

  const owned = parts.move()
  return {
    config,
    log,
    metrics,
    version: readVersion(),
    db,
    identity,
    [Symbol.asyncDispose]: () => owned.disposeAsync(),
  }
}
