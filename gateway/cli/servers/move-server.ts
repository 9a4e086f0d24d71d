import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, rendered } from '../output/view.ts'
import { findServer } from './find-server.ts'

export interface MoveOptions extends WaitOptions {
  /** Its id or name; absent: any other that can take the server. */
  readonly cell?: string
  readonly reason?: string
  readonly wait?: true
}

/** Afterwards the server is being moved to another cell, and the operation is shown; with `wait`, it has ended. */
export async function moveServer(
  operator: Operator,
  wanted: string,
  options: MoveOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const path = { server: await findServer(session, wanted) }
  const { cell, reason } = options
  const body = { ...(cell !== undefined && { cell }), ...(reason !== undefined && { reason }) }
  const operation = await session.federation.ask('post', '/v1/servers/{server}/move', {
    path,
    body,
  })
  if (options.wait === true) return waitForOperation(operator, operation.id, options)
  const view = fieldsView(operation, operationListing(Date.now()))
  operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
}
