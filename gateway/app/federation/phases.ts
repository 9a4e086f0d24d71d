import type { RecordedEvent } from '../../db/server-action-list.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import type { Decision } from './trace.ts'

/** A part of a server's way from its request to its running. Milliseconds since the epoch, and of duration. */
export interface Phase {
  readonly name: string
  readonly startedAt: number
  /** Null while it is in progress, and for a phase that never ended. */
  readonly tookMs: number | null
  readonly result: 'success' | 'error' | null
}

/** Decisions and steps as they began, and last the whole. */
export function phasesOf(
  server: Pick<ServerRecord, 'createdAt' | 'launchedAt' | 'vmState'>,
  decisions: readonly Decision[],
  steps: readonly RecordedEvent[],
): readonly Phase[] {
  const parts = [...decisions.map(decisionPhase), ...steps.map(stepPhase)]
  const sorted = parts.toSorted((a, b) => a.startedAt - b.startedAt)
  // A cell is chosen before the server's row is written.
  const startedAt = Math.min(server.createdAt.getTime(), sorted[0]?.startedAt ?? Infinity)
  return [...sorted, whole(server, startedAt)]
}

function decisionPhase({ trace }: Decision): Phase {
  return {
    name: trace.level === 'cells' ? 'choose-cell' : 'choose-host',
    startedAt: trace.at,
    tookMs: trace.tookMs,
    result: trace.chosen === null ? 'error' : 'success',
  }
}

function stepPhase({ event, startedAt, finishedAt, result }: RecordedEvent): Phase {
  const began = startedAt.getTime()
  return {
    name: event,
    startedAt: began,
    tookMs: finishedAt === null ? null : finishedAt.getTime() - began,
    result: result === null ? null : result === 'Error' ? 'error' : 'success',
  }
}

function whole(
  { launchedAt, vmState }: Pick<ServerRecord, 'launchedAt' | 'vmState'>,
  startedAt: number,
): Phase {
  if (launchedAt !== null)
    return {
      name: 'total',
      startedAt,
      tookMs: launchedAt.getTime() - startedAt,
      result: 'success',
    }
  return { name: 'total', startedAt, tookMs: null, result: vmState === 'error' ? 'error' : null }
}
