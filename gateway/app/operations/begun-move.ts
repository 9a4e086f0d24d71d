import type { Tx } from '#common/db/database.ts'
import { beginMove } from '../../db/drain-moves.ts'
import type { OperationRecord } from '../../db/operations.ts'
import type { DrainMove } from './drain-plan.ts'

/** The operation has ended, as many of its servers move as may, or another gateway has begun this move. */
export class NotBegun extends Error {}

/**
 * A move that is kept in the commit in which the work on its server begins. So a gateway that takes over knows what has
 * become of it: the server was on its way, or nothing was tried.
 */
export class BegunMove<Method extends string = string> {
  readonly #operation: Pick<OperationRecord, 'id'> & { readonly parallel: number }
  readonly #to: DrainMove<Method>
  #kept: DrainMove<Method> | undefined

  /** `seen`: what was done before; undefined: nothing. */
  constructor(
    operation: Pick<OperationRecord, 'id'> & { readonly parallel: number },
    seen: DrainMove<Method> | undefined,
    to: DrainMove<Method>,
  ) {
    this.#operation = operation
    this.#kept = seen
    this.#to = to
  }

  /** As it is in the database, unless others have changed it. */
  get kept(): DrainMove<Method> | undefined {
    return this.#kept
  }

  /** The end of the transaction in which the work begins. Throws `NotBegun`. */
  readonly after = async (tx: Tx): Promise<void> => {
    const { id, parallel } = this.#operation
    if (!(await beginMove(tx, id, this.#kept, this.#to, parallel))) throw new NotBegun()
    tx.afterCommit(() => {
      this.#kept = this.#to
    })
  }
}
