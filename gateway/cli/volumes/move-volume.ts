import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered } from '../output/view.ts'

export interface MoveVolumeOptions extends WaitOptions {
  /** Its id or name. */
  readonly cell: string
  readonly reason?: string
  readonly wait?: true
}

/** Afterwards the volume is being moved to another cell, and the operation is shown; with `wait`, it has ended. */
export async function moveVolume(
  operator: Operator,
  volume: string,
  options: MoveVolumeOptions,
): Promise<void> {
  const { cell, reason } = options
  const session = await openSession(operator, options)
  const operation = await session.federation.ask('post', '/v1/volumes/{volume}/move', {
    path: { volume },
    body: { cell, ...(reason !== undefined && { reason }) },
  })
  if (options.wait === true) return waitForOperation(operator, operation.id, options)
  const view = fieldsView(operation, operationListing(Date.now()))
  operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
}
