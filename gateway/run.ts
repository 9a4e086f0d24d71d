import { keepLogBounded } from '#common/bound-log.ts'
import type { Env } from '#common/env.ts'
import { endOnEscape } from '#common/escaped.ts'
import { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger } from '#common/log.ts'
import { notifySystemd } from '#common/notify-systemd.ts'
import { startWithRetries } from '#common/start-with-retries.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { createGateway } from './context.ts'
import { listen } from './listen.ts'

/** A gateway from its start to its end, which a signal asks for. */
export async function run(env: Env): Promise<void> {
  const config = configFromEnv(env)
  const log = createLogger('gateway', config.logLevel)
  const program = new URL('isolated.ts', import.meta.url)
  await using gateway = await startWithRetries(log, () =>
    createGateway(config, new IsolatedRunner({ program, log })),
  )
  endOnEscape(gateway.log)
  await using listening = await listen(gateway)
  gateway.log.info({ host: listening.host, port: listening.port }, 'gateway listens')
  using _notifier = notifySystemd(env, gateway.log)
  keepLogBounded(config.serviceLogs)
  trimStartupMemory()
  await untilSignal()
  gateway.log.info('gateway stops')
}
