import { keepLogBounded } from '#common/bound-log.ts'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import { endOnEscape } from '#common/escaped.ts'
import { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger, type Logger } from '#common/log.ts'
import { notifySystemd } from '#common/notify-systemd.ts'
import { settledWithin } from '#common/settled-within.ts'
import { startWithRetries } from '#common/start-with-retries.ts'
import { keepTrust } from '#common/tls/keep-trust.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import type { Standing } from './app/site/standing.ts'
import { configFromEnv, type GatewayConfig } from './config.ts'
import { createGateway } from './context.ts'
import { listen } from './listen.ts'
import { firstStanding, serveStandby } from './standby.ts'

/** After another site was promoted, what this process has begun is worth nothing. */
const STEP_DOWN_MS = 2_000
const STEPPED_DOWN_CODE = 75

/** A gateway from its start to its end, which a signal asks for. Whether it serves follows from its site's standing. */
export async function run(env: Env): Promise<void> {
  const config = configFromEnv(env)
  const log = createLogger('gateway', config.logLevel)
  const recorder = { program: 'gateway', process: config.processName } as const
  await using _spans = await recordSpans(env, recorder, log)
  await using _trust = keepTrust(env, systemClock, log)
  endOnEscape(log)
  const stop = new AbortController()
  const signal = untilSignal().then(() => stop.abort())
  let notifier: Disposable | undefined
  const onListening = () => {
    if (notifier !== undefined) return
    notifier = notifySystemd(env, log)
    keepLogBounded(config.serviceLogs)
    trimStartupMemory()
  }
  const how = { signal, stopped: stop.signal, onListening }
  let standing = await startWithRetries(log, () => firstStanding(config))
  while (!stop.signal.aborted)
    standing =
      standing.is === 'active'
        ? await serveActive(config, log, standing, how)
        : await serveStandby(config, log, standing, how)
  notifier?.[Symbol.dispose]()
  log.info('gateway stops')
}

interface How {
  readonly signal: Promise<void>
  readonly stopped: AbortSignal
  readonly onListening: () => void
}

/** Until the process is asked to stop, or another site is active. Returns the standing after that. */
async function serveActive(
  config: GatewayConfig,
  log: Logger,
  standing: Standing,
  { signal, stopped, onListening }: How,
): Promise<Standing> {
  await using parts = new AsyncDisposableStack()
  const program = new URL('isolated.ts', import.meta.url)
  const gateway = parts.use(
    await startWithRetries(log, () =>
      createGateway(config, new IsolatedRunner({ program, log }), standing.generation),
    ),
  )
  const listening = parts.use(await listen(gateway))
  log.info({ host: listening.host, port: listening.port }, 'gateway listens')
  onListening()
  const ended = await Promise.race([signal, ...(gateway.site ? [gateway.site.ended] : [])])
  if (ended === undefined || stopped.aborted) {
    await gateway.rotation.leave()
    return standing
  }
  // Systemd or the launcher starts the process again where it cannot end in good order: nothing more is to be written.
  const disposed = parts.disposeAsync().then(() => true)
  if ((await settledWithin(systemClock, STEP_DOWN_MS, disposed)) === undefined)
    process.exit(STEPPED_DOWN_CODE)
  return ended
}
