import { keepLogBounded } from '#common/bound-log.ts'
import type { Env } from '#common/env.ts'
import { createLogger } from '#common/log.ts'
import { notifySystemd } from '#common/notify-systemd.ts'
import { trimStartupMemory } from '#common/trim-startup-memory.ts'
import { untilSignal } from '#common/until-signal.ts'
import { computeFromEnv } from './from-env.ts'

/** A compute from its start to its end, which a signal asks for. */
export async function run(env: Env): Promise<void> {
  await using _compute = await computeFromEnv(env)
  using _notifier = notifySystemd(env, createLogger('compute'))
  keepLogBounded()
  trimStartupMemory()
  await untilSignal()
}
