import type { RunRecord } from '../record/record.ts'
import { compareLedgers } from './compare-ledgers.ts'
import { comparePlaces } from './compare-places.ts'
import { comparePorts } from './compare-ports.ts'
import { compareThings } from './compare-things.ts'
import { compareTrails } from './compare-trails.ts'
import { stuckIn } from './quiet.ts'
import type { Snapshot } from './snapshot.ts'

export const WRONG_KINDS = [
  'lost',
  'doubled',
  'leaked',
  'stuck',
  'wrong answer',
  'miscounted',
  'unrecorded',
] as const
export type WrongKind = (typeof WRONG_KINDS)[number]

/** One thing that is not as it was answered, named so that it can be followed. */
export interface Wrong {
  readonly kind: WrongKind
  readonly text: string
  /** Ids of the requests it contradicts. */
  readonly requests: readonly string[]
}

/** Every violation in a quiet deployment, given all recorded requests and their answers. */
export function compare(snapshot: Snapshot, record: RunRecord): readonly Wrong[] {
  return [
    ...stuckIn(snapshot).map((text): Wrong => ({ kind: 'stuck', text, requests: [] })),
    ...compareThings(snapshot, record),
    ...comparePlaces(snapshot),
    ...comparePorts(snapshot),
    ...compareLedgers(snapshot),
    ...compareTrails(snapshot, record),
    ...record.wrongAnswers.map(
      ({ entry, text }): Wrong => ({ kind: 'wrong answer', text, requests: [entry.requestId] }),
    ),
  ]
}
