import { WRONG_KINDS, type Wrong, type WrongKind } from './comparison/compare.ts'
import type { Snapshot } from './comparison/snapshot.ts'
import type { FaultLog } from './faults/rounds.ts'
import { outcomeOf, type RunRecord } from './record/record.ts'

/** What a run comes to. */
export interface Figures {
  readonly seed: number
  readonly minutes: number
  readonly requests: number
  readonly done: number
  readonly refused: number
  readonly unknown: number
  readonly bootsAccepted: number
  /** Of those accepted that are there in the end. */
  readonly serversInError: number
  readonly faults: number
  readonly faultsByKind: Readonly<Record<string, number>>
  /** Seconds from the end of a fault until everything served again. */
  readonly recoveries: Readonly<Record<string, Recovery>>
  readonly wrong: Readonly<Record<WrongKind, number>>
  readonly answers5xx: Readonly<Record<string, number>>
  /** Processes that ended without having been killed. */
  readonly endedByThemselves: number
  readonly quietAfterS: number
}

export interface Recovery {
  readonly times: number
  readonly medianS: number
  readonly maxS: number
}

export interface Run {
  readonly seed: number
  readonly minutes: number
  readonly record: RunRecord
  readonly faults: FaultLog
  readonly snapshot: Snapshot
  readonly wrong: readonly Wrong[]
  readonly endedByThemselves: number
  readonly quietMs: number
}

export function figuresOf(run: Run): Figures {
  const { entries } = run.record
  const outcomes = Map.groupBy(entries, outcomeOf)
  const { happened } = run.faults
  return {
    seed: run.seed,
    minutes: run.minutes,
    requests: entries.length,
    done: outcomes.get('done')?.length ?? 0,
    refused: outcomes.get('refused')?.length ?? 0,
    unknown: outcomes.get('unknown')?.length ?? 0,
    bootsAccepted: (outcomes.get('done') ?? []).filter(({ makes }) => makes?.type === 'server')
      .length,
    serversInError: run.snapshot.api.servers.filter(({ vmState }) => vmState === 'error').length,
    faults: happened.length,
    faultsByKind: countBy(happened.map(({ kind }) => kind)),
    recoveries: recoveriesOf(run.faults),
    wrong: Object.fromEntries(
      WRONG_KINDS.map((kind) => [kind, run.wrong.filter((each) => each.kind === kind).length]),
    ) as Record<WrongKind, number>,
    answers5xx: countBy(
      entries
        .filter(({ status }) => status >= 500)
        .map(({ status, message }) => `${status} ${plain(message)}`),
    ),
    endedByThemselves: run.endedByThemselves,
    quietAfterS: seconds(run.quietMs),
  }
}

function recoveriesOf({ recoveries }: FaultLog): Readonly<Record<string, Recovery>> {
  const byKind = [...Map.groupBy(recoveries, ({ kind }) => kind)].toSorted(([a], [b]) =>
    a < b ? -1 : 1,
  )
  return Object.fromEntries(
    byKind.map(([kind, all]) => {
      const sorted = all.map(({ ms }) => ms).toSorted((a, b) => a - b)
      const medianS = seconds(sorted[Math.floor(sorted.length / 2)] ?? 0)
      return [kind, { times: all.length, medianS, maxS: seconds(sorted.at(-1) ?? 0) }]
    }),
  )
}

/** A message without what differs from one to the next. */
function plain(message: string): string {
  return message
    .replaceAll(/\b(req-)?[0-9a-f]{8}-[0-9a-f-]{27}\b/g, 'ID')
    .replaceAll(/\d+/g, 'N')
    .slice(0, 100)
}

function countBy(names: readonly string[]): Readonly<Record<string, number>> {
  const groups = [...Map.groupBy(names, (name) => name)]
  return Object.fromEntries(
    groups.map(([name, all]) => [name, all.length] as const).toSorted(([, a], [, b]) => b - a),
  )
}

function seconds(ms: number): number {
  return Math.round(ms / 100) / 10
}
