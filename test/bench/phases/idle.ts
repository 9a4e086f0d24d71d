import { setTimeout as sleep } from 'node:timers/promises'
import type { ProcessIdentity } from '#deploy/process/process-identity.ts'
import { cpuSeconds, pssMiB } from '../proc.ts'

export interface IdleFigures {
  readonly pssMiB: number
  /** Of one core. */
  readonly cpuPercent: number
}

/** What has just started still compiles what it runs now and then. */
const SETTLED_AFTER = 2
export const WATCH_S = 60

/** What each process holds and uses while no request comes, and all of them together. */
export async function measureIdle(
  named: Readonly<Record<string, ProcessIdentity>>,
  watchS = WATCH_S,
): Promise<Readonly<Record<string, IdleFigures>>> {
  const watchMs = watchS * 1_000
  await sleep(SETTLED_AFTER * watchMs)
  const processes = Object.entries(named)
  const before = processes.map(([, each]) => cpuSeconds([each]))
  await sleep(watchMs)
  const figures = Object.fromEntries(
    processes.map(([name, each], place) => {
      const used = cpuSeconds([each]) - before[place]!
      return [name, { pssMiB: pssMiB(each), cpuPercent: (used * 100) / watchS }]
    }),
  )
  return { ...figures, all: sumOf(Object.values(figures)) }
}

function sumOf(figures: readonly IdleFigures[]): IdleFigures {
  const sum = (of: (each: IdleFigures) => number) =>
    figures.reduce((total, each) => total + of(each), 0)
  return { pssMiB: sum((each) => each.pssMiB), cpuPercent: sum((each) => each.cpuPercent) }
}
