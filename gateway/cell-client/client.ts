import type { NatsConnection } from '@nats-io/transport-node'
import { ask, type Recipient } from '#common/bus/ask.ts'
import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { CellId } from '#common/ids.ts'
import {
  CELL_OPERATIONS,
  type CellAnswer,
  type CellAsk,
  type CellOperation,
} from '#openapi/wire/cell.ts'
import { checked } from '#openapi/wire/checked.ts'
import { cellSubject, processSubject } from '#openapi/wire.ts'

export interface CellRef {
  readonly id: CellId
  readonly name: string
}

/** Asks one cell to do one thing. `timeoutMs` absent: as long as a cell may take to commit. */
export type AskCell = <O extends CellOperation>(
  cell: CellRef,
  operation: O,
  ask: CellAsk<O>,
  options: { readonly work: WorkContext; readonly timeoutMs?: number },
) => Promise<CellAnswer<O>>

const TIMEOUT_MS = 10_000

/** The cells from which a gateway has received heartbeats. */
export interface CellHeartbeats {
  /** The process of the cell for the next request; undefined if none has reported lately. */
  processOf(cell: CellId): string | undefined
  /** True where no heartbeat of the cell came for longer than its deadline. */
  isUnreachable(cell: CellId): boolean
}

/**
 * Sends a request to a process of the cell that has reported lately, or to any process if there is none or that one has
 * ended, and repeats it, also to another process, while no answer comes. `unavailable` for a cell that is unreachable (then nothing is sent), does not answer in time, or gives an
 * answer outside the contract: the request may or may not have been carried out. Any other failure is the cell's own;
 * `unsupported`: its release does not know the operation. `onAsk` is called before a request is sent.
 */
export function cellClient(
  nats: NatsConnection,
  cells: CellHeartbeats,
  onAsk: () => void,
): AskCell {
  return async (cell, operation, payload, { work, timeoutMs = TIMEOUT_MS }) => {
    const whom = `Cell ${cell.name}`
    // The bus would not report that no process answers: a cell is in an account of its own.
    if (cells.isUnreachable(cell.id))
      throw new Failure('unavailable', `${whom} did not answer.`, {
        detail: 'no heartbeats of the cell arrive',
      })
    onAsk()
    const again = () => recipientOf(cells, cell.id, operation)
    const answer = await ask(nats, { ...again(), again, payload, work, timeoutMs, whom })
    try {
      // The table's entry of `operation` has the type of that operation.
      return checked(CELL_OPERATIONS[operation].answer, answer, operation) as never
    } catch (cause) {
      throw new Failure('unavailable', `${whom} gave an answer that could not be understood.`, {
        cause,
      })
    }
  }
}

function recipientOf(cells: CellHeartbeats, cell: CellId, operation: CellOperation): Recipient {
  const processId = cells.processOf(cell)
  const any = cellSubject(cell, operation)
  if (processId === undefined) return { subject: any }
  return { subject: processSubject(cell, processId, operation), otherwise: any }
}
