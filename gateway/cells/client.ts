import type { NatsConnection } from '@nats-io/transport-node'
import { ask } from '#common/bus/ask.ts'
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

/**
 * Asks the process of the cell that `processOf` names, and any where it names none or that one has ended. A cell that does not answer in time, is not there, or answers outside the contract is `unavailable`: what was
 * asked may or may not have happened. Any other failure is the cell's own.
 */
export function cellClient(
  nats: NatsConnection,
  processOf: (cell: CellId) => string | undefined,
): AskCell {
  return async (cell, operation, payload, { work, timeoutMs = TIMEOUT_MS }) => {
    const whom = `Cell ${cell.name}`
    const processId = processOf(cell.id)
    const any = cellSubject(cell.id, operation)
    const at =
      processId === undefined
        ? { subject: any }
        : { subject: processSubject(cell.id, processId, operation), otherwise: any }
    const answer = await ask(nats, { ...at, payload, work, timeoutMs, whom })
    try {
      // The table's entry of `operation` has the type the operation's name stands for.
      return checked(CELL_OPERATIONS[operation].answer, answer, operation) as never
    } catch (cause) {
      throw new Failure('unavailable', `${whom} gave an answer that could not be understood.`, {
        cause,
      })
    }
  }
}
