import { performance } from 'node:perf_hooks'
import { setTimeout as sleep } from 'node:timers/promises'
import type { SeededRandom } from '#test/env/random.ts'
import type { Deployment } from '../deployment/deployment.ts'
import type { Member } from '../deployment/member.ts'
import { chooseFault, type Fault } from './fault.ts'

/** What happened, times in milliseconds of the harness's clock. */
export interface FaultLog {
  readonly happened: { kind: string; target: string; atMs: number; endMs: number }[]
  /** From the end of a fault that came alone until everything served again; `several` for those that came together. */
  readonly recoveries: { kind: string; ms: number }[]
}

export interface RoundsOptions {
  readonly deployment: Deployment
  readonly random: SeededRandom
  readonly isOver: () => boolean
  /** Resolves when every gateway, cell and host serves; gives up at the signal. */
  readonly recovered: (signal: AbortSignal) => Promise<void>
  readonly progress: (line: string) => void
}

/** Of all rounds. */
const ALONE = 0.35
const STORMS = 0.3
const SEVERAL_MAX = 4
/** As many of the processes at once as leave some that still run. */
const STORM = 8
const KEEP_UP_EVERY_MS = 200
/** Longer than any wait in the code; what has not recovered by then is recorded with this. */
const RECOVERY_LIMIT_MS = 60_000

/** Makes things go wrong, one at a time and several at once, and keeps count; all is put right again in the end. */
export async function runRounds(options: RoundsOptions): Promise<FaultLog> {
  const { deployment, random, isOver } = options
  const log: FaultLog = { happened: [], recoveries: [] }
  const down = new Set<Member>()
  const keeper = keepUp(deployment, down, isOver)
  while (!isOver()) {
    const faults = chooseRound(deployment, random)
    await Promise.all(faults.map((fault) => happen(fault, log, down)))
    // Now and then the next comes before all have recovered from the last.
    if (random.next() < 0.2) continue
    await measure(faults, options, log)
  }
  await keeper
  await Promise.all(deployment.members.map((member) => member.keepUp()))
  for (const { name, startFailure } of deployment.members)
    if (startFailure !== undefined)
      throw new Error(`${name} could not be started again.`, { cause: startFailure })
  return log
}

/** One fault, several that happen to different targets at once, or a storm of them. */
function chooseRound(deployment: Deployment, random: SeededRandom): readonly Fault[] {
  const dice = random.next()
  if (dice < ALONE) return [chooseFault(deployment, random)]
  const faults = new Map<string, Fault>()
  const count = dice < ALONE + STORMS ? STORM : 2 + Math.floor(random.next() * (SEVERAL_MAX - 1))
  while (faults.size < count) {
    const fault = chooseFault(deployment, random)
    if (!faults.has(fault.target)) faults.set(fault.target, fault)
  }
  return [...faults.values()]
}

async function happen(fault: Fault, log: FaultLog, down: Set<Member>): Promise<void> {
  const { kind, target } = fault
  const atMs = performance.now()
  if (fault.down !== undefined) down.add(fault.down)
  // What locks tables may have to wait for them, or be cut off from them by another fault.
  const begun = Promise.resolve()
    .then(() => fault.begin())
    .catch(() => {})
  await sleep(fault.holdMs)
  await Promise.race([begun, sleep(fault.holdMs)])
  if (fault.down !== undefined) down.delete(fault.down)
  await fault.end()
  void begun.then(() => fault.end())
  log.happened.push({ kind, target, atMs, endMs: performance.now() })
}

async function measure(
  faults: readonly Fault[],
  { recovered, progress }: RoundsOptions,
  { recoveries }: FaultLog,
): Promise<void> {
  const kind = faults.length === 1 ? faults[0]!.kind : 'several'
  const startMs = performance.now()
  const signal = AbortSignal.timeout(RECOVERY_LIMIT_MS)
  await recovered(signal)
  const ms = performance.now() - startMs
  recoveries.push({ kind, ms })
  if (signal.aborted)
    progress(`Not recovered ${Math.round(ms / 1_000)} s after ${faults.map(named).join(', ')}`)
}

function named({ kind, target }: Fault): string {
  return `${kind} (${target})`
}

/** As a supervisor would: what has ended and is not meant to be down is started again. */
async function keepUp(
  { members }: Deployment,
  down: ReadonlySet<Member>,
  isOver: () => boolean,
): Promise<void> {
  while (!isOver()) {
    for (const member of members) if (!down.has(member)) void member.keepUp()
    await sleep(KEEP_UP_EVERY_MS)
  }
}
