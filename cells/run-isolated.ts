import { connectBus } from '#common/bus/connect.ts'
import { systemClock } from '#common/clock.ts'
import { Database } from '#common/db/database.ts'
import type { Env } from '#common/env.ts'
import type { HostId } from '#common/ids.ts'
import { serveIsolated } from '#common/isolated/serve-isolated.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { RunningReconciler } from '#common/reconciler.ts'
import { executeIsolated, type IsolatedSaga } from '#common/saga/execute-isolated.ts'
import type { Json } from '#common/saga/saga.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { checked } from '#openapi/wire/checked.ts'
import { HostAlive } from '#openapi/wire/host.ts'
import { reportSubject } from '#openapi/wire.ts'
import type { Conductor } from './conductor/conductor.ts'
import { type CellConfig, configFromEnv } from './config.ts'
import { busOptions, CELL_SAGAS, openConductor } from './context.ts'
import { openImageCache } from './image-cache/open-image-cache.ts'

const CONNECTIONS_MAX = 8
const REFRESH_MS = 1_000

/** An isolated process, until the cell needs it no more: it runs sagas, and serves no requests. */
export async function runIsolated(env: Env): Promise<void> {
  const config = configFromEnv(env)
  const log = createLogger('cell', config.logLevel).child({
    cell: config.cellName,
    is_isolated: true,
  })
  await serveIsolated(log, () => open(env, config, log))
}

async function open(env: Env, config: CellConfig, log: Logger) {
  await using parts = new AsyncDisposableStack()
  parts.use(await recordSpans(env, { program: 'cell', process: config.processName }, log))
  const { databaseUrl: url, databaseRetryMs: retryMs } = config
  const db = parts.use(new Database({ url, connectionsMax: CONNECTIONS_MAX, retryMs }))
  const nats = await connectBus(
    busOptions(config, () => undefined),
    log,
  )
  parts.defer(() => nats.close())
  // The relay looks by itself as well.
  const [feedChanged, networkChanged] = [() => undefined, () => undefined]
  const clock = systemClock
  // A process apart has no cache of its own, only those that the settings name.
  const named = { ...config, imageCache: { ...config.imageCache, own: undefined } }
  const { caches: imageCaches } = await openImageCache(parts, named, { clock, log })
  const conductor = await openConductor(config, {
    db,
    nats,
    clock,
    log,
    feedChanged,
    networkChanged,
    imageCaches,
  })
  parts.use(knowHosts(conductor))
  const work = (task: Json, signal: AbortSignal): Promise<Json> =>
    executeIsolated(
      { db, deps: conductor, sagas: CELL_SAGAS, clock, log },
      task as unknown as IsolatedSaga,
      signal,
    )
  const owned = parts.move()
  return { work, [Symbol.asyncDispose]: () => owned.disposeAsync() }
}

/** Reads the state of hosts. Only the cell's own processes write it. */
function knowHosts({ cellId, nats, hosts, clock, log }: Conductor): AsyncDisposable {
  const subscription = nats.subscribe(reportSubject(cellId, '*', 'alive'), {
    callback: (error, message) => {
      if (error !== null) return
      try {
        const { hostId, down } = checked(HostAlive, message.json(), message.subject)
        if (message.subject.split('.')[2] === hostId) hosts.recordReport(hostId as HostId, down)
      } catch {
        // The cell's own processes log a host that sends invalid messages.
      }
    },
  })
  const round = async () => {
    await hosts.refresh()
    return { hosts: hosts.all().length }
  }
  const reconciler = new RunningReconciler(
    { name: 'hosts', everyMs: REFRESH_MS, round },
    clock,
    log,
  )
  return {
    [Symbol.asyncDispose]: () => {
      subscription.unsubscribe()
      return reconciler[Symbol.asyncDispose]()
    },
  }
}
