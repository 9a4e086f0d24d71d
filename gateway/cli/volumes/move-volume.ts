import { Failure } from '#common/errors.ts'
import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered } from '../output/view.ts'

export interface MoveVolumeOptions extends WaitOptions {
  /** Its id or name. */
  readonly cell?: string
  /** The same, of a store of the volume's cell. */
  readonly store?: string
  readonly reason?: string
  readonly wait?: true
}

/** Afterwards the volume is being moved to another cell or store, and the operation is shown; with `wait`, it has ended. */
export async function moveVolume(
  operator: Operator,
  volume: string,
  options: MoveVolumeOptions,
): Promise<void> {
  const { cell, store, reason } = options
  if ((cell === undefined) === (store === undefined))
    throw new Failure(
      'invalid',
      'Name either a cell, with --cell, or a store of the cell that the volume is in, with --store.',
    )
  const session = await openSession(operator, options)
  const operation = await session.federation.ask('post', '/v1/volumes/{volume}/move', {
    path: { volume },
    body: {
      ...(cell && { cell }),
      ...(store && { store }),
      ...(reason !== undefined && { reason }),
    },
  })
  if (options.wait === true) return waitForOperation(operator, operation.id, options)
  const view = fieldsView(operation, operationListing(Date.now()))
  operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
}
