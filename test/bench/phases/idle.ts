import { setTimeout as sleep } from 'node:timers/promises'
import { cpuSeconds, pssMiB } from '../proc.ts'
import type { Target } from '../target.ts'

export interface IdleFigures {
  readonly pssMiB: number
  /** Of one core. */
  readonly cpuPercent: number
}

const SETTLE_MS = 3_000
const WATCH_MS = 10_000

/** What each process holds and uses while nobody asks anything. */
export async function measureIdle(
  target: Pick<Target, 'processes'>,
): Promise<Readonly<Record<string, IdleFigures>>> {
  await sleep(SETTLE_MS)
  const processes = Object.entries(target.processes)
  const before = processes.map(([, each]) => cpuSeconds([each]))
  await sleep(WATCH_MS)
  return Object.fromEntries(
    processes.map(([name, each], place) => {
      const used = cpuSeconds([each]) - before[place]!
      return [name, { pssMiB: pssMiB(each), cpuPercent: (used * 100_000) / WATCH_MS }]
    }),
  )
}
