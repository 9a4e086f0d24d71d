import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { isDeepStrictEqual } from 'node:util'
import { keepLogBounded } from '#common/bound-log.ts'
import type { Clock } from '#common/clock.ts'
import { errorFields, type Logger } from '#common/log.ts'
import type { Layout } from '../deployment/layout.ts'
import { isLocked, lastCommand } from '../deployment/lock.ts'
import { loadState } from '../deployment/state.ts'
import { projectRoot } from '../paths.ts'
import { logPath } from '../status/log-path.ts'
import { processStates } from '../status/process-states.ts'
import { lastLogLine } from './last-log-line.ts'
import { type EndedProcess, type ReasonOf, RestartPlan } from './restart-plan.ts'
import { writeEndedProcesses } from './supervision.ts'

const LOOK_EVERY_MS = 1_000
/** Of a repair that found a command at work. */
export const EXIT_BUSY = 75
const ERROR_CHARS_MAX = 4_000
const REASON_CHARS_MAX = 300

/**
 * Looks every second at the processes of the deployment and has those started that do not run, until `signal` or until
 * the deployment is gone. Nothing is done while a command brings the deployment up or down.
 */
export async function supervise(
  layout: Layout,
  clock: Clock,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  keepLogBounded()
  const plan = new RestartPlan()
  let reported: readonly EndedProcess[] = []
  let command = lastCommand(layout)
  let repair: Promise<void> | undefined
  while (!signal.aborted) {
    try {
      const isAtWork = repair === undefined && isLocked(layout)
      if (isAtWork || lastCommand(layout) !== command) plan.forgetPids()
      command = lastCommand(layout)
      if (isAtWork) continue
      const state = loadState(layout)
      if (state === undefined) return
      plan.see(await processStates(layout, state), clock.now(), wordsIn(layout))
      if (repair === undefined && state.isReady && plan.isDue(clock.now()))
        repair = repaired(layout, plan, clock, log).finally(() => {
          repair = undefined
        })
      const endedProcesses = plan.endedProcesses()
      if (isDeepStrictEqual(endedProcesses, reported)) continue
      logNews(log, reported, endedProcesses)
      writeEndedProcesses(layout, endedProcesses)
      reported = endedProcesses
    } catch (error) {
      log.error(errorFields(error), 'processes not looked at')
    } finally {
      await clock.sleep(LOOK_EVERY_MS, signal).catch(() => {})
    }
  }
}

function logNews(log: Logger, before: readonly EndedProcess[], now: readonly EndedProcess[]): void {
  for (const trouble of now) {
    const { name, deaths, isDown, reason } = trouble
    const wasDown = before.find((each) => each.name === name)?.isDown === true
    if (isDown && !wasDown) log.warn({ process: name, deaths, reason }, 'process ended')
    else if (!isDown && wasDown) log.info({ process: name, deaths }, 'process runs again')
  }
}

/** Resolves when a process of its own has tried; it is killed by the kernel when this one ends. */
async function repaired(
  layout: Layout,
  plan: RestartPlan,
  clock: Clock,
  log: Logger,
): Promise<void> {
  const names = plan.down()
  const args = ['--pdeathsig', 'KILL', '--', process.execPath, 'deploy/supervisor/repair.ts']
  const child = spawn('setpriv', args, { cwd: projectRoot, stdio: ['ignore', 'ignore', 'pipe'] })
  let output = ''
  child.stderr.setEncoding('utf8').on('data', (text: string) => {
    output = `${output}${text}`.slice(-ERROR_CHARS_MAX)
  })
  const [code] = (await once(child, 'close')) as [number | null]
  // A command that ended it will do, or undo, what it was to do.
  if (code === null || code === EXIT_BUSY) return
  const failed =
    code === 0 ? undefined : output.trim().split('\n').at(-1)?.slice(0, REASON_CHARS_MAX)
  if (failed !== undefined) log.error({ error: failed }, 'processes not started')
  const state = loadState(layout)
  if (state === undefined) return
  const words = wordsIn(layout)
  plan.see(await processStates(layout, state), clock.now(), words)
  plan.tried(names, clock.now(), (name) => words(name) ?? failed)
}

function wordsIn(layout: Layout): ReasonOf {
  return (name) => lastLogLine(logPath(layout, name))
}
