import { closedLoop, type Measured } from '../closed-loop.ts'
import { median } from '../statistics.ts'
import type { Project } from './project.ts'

export interface ListFigures {
  readonly p50Ms: number
  readonly p99Ms: number
}

/** Requests are sent one after the other: the list is measured, and not the wait for other requests. */
const CONCURRENCY = 1
const WARM_UP_MS = 3_000
/** Of one round. */
const RUN_MS = 5_000
const ROUNDS = 5

/**
 * How long each project's list takes, in turns, so that whatever else the machine does meets them alike: medians of the
 * rounds.
 */
export async function measureLists(projects: readonly Project[]): Promise<readonly ListFigures[]> {
  const runs: readonly Measured[][] = projects.map(() => [])
  const ask = ({ origin, list: request }: Project, durationMs: number) =>
    closedLoop({ origin, request, concurrency: CONCURRENCY, durationMs })
  for (const project of projects) await ask(project, WARM_UP_MS)
  for (let round = 0; round < ROUNDS; round += 1)
    for (const [place, project] of projects.entries()) runs[place]?.push(await ask(project, RUN_MS))
  return runs.map((each) => ({
    p50Ms: median(each.map(({ p50Ms }) => p50Ms)),
    p99Ms: median(each.map(({ p99Ms }) => p99Ms)),
  }))
}
