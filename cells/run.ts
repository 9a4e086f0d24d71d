import { keepLogBounded } from '#common/bound-log.ts'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import { endOnEscape } from '#common/escaped.ts'
import { IsolatedRunner } from '#common/isolated/isolated-runner.ts'
import { createLogger } from '#common/log.ts'
import { notifySystemd } from '#common/notify-systemd.ts'
import { startWithRetries } from '#common/start-with-retries.ts'
import { keepTrust } from '#common/tls/keep-trust.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { startCell } from './context.ts'

/** A process of a cell from its start to its end, which a signal asks for. */
export async function run(env: Env): Promise<void> {
  const config = configFromEnv(env)
  const log = createLogger('cell', config.logLevel)
  const recorder = { program: 'cell', process: config.processName } as const
  await using _spans = await recordSpans(env, recorder, log)
  await using _trust = keepTrust(env, systemClock, log)
  const program = new URL('isolated.ts', import.meta.url)
  await using running = await startWithRetries(log, () =>
    startCell(config, systemClock, new IsolatedRunner({ program, log })),
  )
  endOnEscape(running.cell.conductor.log)
  using _notifier = notifySystemd(env, running.cell.conductor.log)
  keepLogBounded(config.serviceLogs)
  trimStartupMemory()
  await untilSignal()
  running.cell.conductor.log.info('cell stops')
}
