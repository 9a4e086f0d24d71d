import { connectBus } from '#common/bus/connect.ts'
import { stampGeneration } from '#common/bus/site-generation.ts'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import { serveIsolated } from '#common/isolated/serve-isolated.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { executeIsolated, type IsolatedSaga } from '#common/saga/execute-isolated.ts'
import type { Json } from '#common/saga/saga.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { importIsolated } from './app/images/import/run-import.ts'
import { openComputeDeps } from './app/open-compute.ts'
import { OperationWatch } from './app/operations/operation-watch.ts'
import type { IsolatedRow } from './app/reconcilers/row-reconciler.ts'
import { rowIsolated } from './app/reconcilers/row-reconcilers.ts'
import { COMPUTE_SAGAS } from './app/sagas/compute-sagas.ts'
import { configFromEnv, type GatewayConfig } from './config.ts'
import { busOptions, computeOptions, imagesOf, openNetworks } from './context.ts'
import { runningAmong } from './db/running-operations.ts'
import { readActiveSite } from './db/sites.ts'
import { openDatabase } from './open-database.ts'

/** One task after another comes, and few at a time. */
const CONNECTIONS_MAX = 8

/**
 * An isolated process, until the gateway needs it no more: it runs sagas, imports and rows of reconcilers,
 * and serves no requests.
 */
export async function runIsolated(env: Env): Promise<void> {
  const config = configFromEnv(env)
  const log = createLogger('gateway', config.logLevel).child({ is_isolated: true })
  await serveIsolated(log, () => open(env, config, log))
}

async function open(env: Env, config: GatewayConfig, log: Logger) {
  await using parts = new AsyncDisposableStack()
  parts.use(await recordSpans(env, { program: 'gateway', process: config.processName }, log))
  const db = parts.use(openDatabase(config, CONNECTIONS_MAX))
  const nats = await connectBus(
    busOptions(config, () => undefined),
    log,
  )
  const generation = (await readActiveSite(db))?.generation
  if (generation !== undefined) stampGeneration(nats, generation)
  parts.defer(() => nats.close())
  // The gateway finds by itself the images that are imported here.
  const images = await imagesOf(parts, config, db, () => undefined)
  const networks = openNetworks(config, db)
  const options = computeOptions(config, { db, nats, log, images, networks })
  const deps = await openComputeDeps(parts, options)
  const running = (ids: readonly string[]) => runningAmong(db, ids)
  const operations = parts.use(new OperationWatch({ running, nats, clock: systemClock, log }))
  const work = async (task: Json, signal: AbortSignal): Promise<Json> => {
    const { kind, id } = task as { readonly kind: 'saga' | 'import' | 'row'; readonly id: string }
    if (kind === 'import') return importIsolated(images, id, signal)
    if (kind === 'row')
      return rowIsolated({ ...deps, operations }, config, task as unknown as IsolatedRow, signal)
    const engine = { db, deps, sagas: COMPUTE_SAGAS, clock: systemClock, log }
    return executeIsolated(engine, task as unknown as IsolatedSaga, signal)
  }
  const owned = parts.move()
  return { work, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}
