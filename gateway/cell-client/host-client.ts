import type { NatsConnection } from '@nats-io/transport-node'
import { ask } from '#common/bus/ask.ts'
import type { WorkContext } from '#common/context.ts'
import { Failure } from '#common/errors.ts'
import type { HostId } from '#common/ids.ts'
import { checked } from '#openapi/wire/checked.ts'
import {
  DIRECT_OPERATIONS,
  type DirectAnswer,
  type DirectAsk,
  type DirectOperation,
} from '#openapi/wire/direct.ts'
import { directSubject } from '#openapi/wire.ts'
import type { CellRef } from './client.ts'

/** Asks one host of a cell itself. */
export type AskHost = <O extends DirectOperation>(
  cell: CellRef,
  host: HostId,
  operation: O,
  ask: DirectAsk<O>,
  work: WorkContext,
) => Promise<DirectAnswer<O>>

/** Longer than a host waits for a guest to print, or to take keystrokes. */
const TIMEOUT_MS = 15_000

/** A host that does not answer in time, is not there, or answers outside the contract is `unavailable`. `onAsk` is called before a request is sent. */
export function hostClient(nats: NatsConnection, onAsk: () => void): AskHost {
  return async (cell, host, operation, payload, work) => {
    onAsk()
    const whom = `A host of cell ${cell.name}`
    const subject = directSubject(cell.id, host, operation)
    const answer = await ask(nats, { subject, payload, work, timeoutMs: TIMEOUT_MS, whom })
    try {
      // The table's entry of `operation` has the type of that operation.
      return checked(DIRECT_OPERATIONS[operation].answer, answer, operation) as never
    } catch (cause) {
      throw new Failure('unavailable', `${whom} gave an answer that could not be understood.`, {
        cause,
      })
    }
  }
}
