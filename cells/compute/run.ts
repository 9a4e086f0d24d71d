import { keepLogBounded } from '#common/bound-log.ts'
import { systemClock } from '#common/clock.ts'
import type { Env } from '#common/env.ts'
import { createLogger } from '#common/log.ts'
import { notifySystemd } from '#common/notify-systemd.ts'
import { keepTrust } from '#common/tls/keep-trust.ts'
import { recordSpans } from '#common/trace/record-spans.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import { configFromEnv } from './config.ts'
import { computeFromEnv } from './from-env.ts'

/** A compute from its start to its end, which a signal asks for. */
export async function run(env: Env): Promise<void> {
  const { hostName, logLevel } = configFromEnv(env)
  const log = createLogger('compute', logLevel)
  await using _spans = await recordSpans(env, { program: 'compute', process: hostName }, log)
  await using _trust = keepTrust(env, systemClock, log)
  await using _compute = await computeFromEnv(env)
  using _notifier = notifySystemd(env, log)
  keepLogBounded()
  trimStartupMemory()
  await untilSignal()
}
