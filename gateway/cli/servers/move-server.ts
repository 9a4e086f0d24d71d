import type { operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, type Listing, rendered } from '../output/view.ts'
import { findServer } from './find-server.ts'

export interface MoveOptions extends WaitOptions {
  /** Its id or name; absent: any other that can take the server. */
  readonly cell?: string
  readonly reason?: string
  readonly wait?: true
  readonly dryRun?: true
}

type Forecast = AnswerOf<operations['forecastServerMove']>

const FORECAST: Listing<Forecast> = {
  plural: 'moves',
  nameOf: ({ cell }) => cell ?? '',
  columns: [
    { head: 'CELL', of: ({ cell }) => cell ?? '-' },
    { head: 'OBSTACLE', of: ({ obstacle }) => obstacle ?? '-' },
  ],
}

/** Afterwards the server is being moved to another cell, and the operation is shown; with `wait`, it has ended. A dry run shows to which cell it would go, or why it would not. */
export async function moveServer(
  operator: Operator,
  wanted: string,
  options: MoveOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const path = { server: await findServer(session, wanted) }
  const { cell, reason } = options
  if (options.dryRun === true) {
    const query = cell === undefined ? {} : { cell }
    const asked = { path, query }
    const forecast = await session.federation.ask('get', '/v1/servers/{server}/move', asked)
    const shown = fieldsView(forecast, FORECAST)
    operator.out.write(await rendered(shown, options.output, styleFor(operator.out, operator.env)))
    return
  }
  const body = { ...(cell !== undefined && { cell }), ...(reason !== undefined && { reason }) }
  const operation = await session.federation.ask('post', '/v1/servers/{server}/move', {
    path,
    body,
  })
  if (options.wait === true) return waitForOperation(operator, operation.id, options)
  const view = fieldsView(operation, operationListing(Date.now()))
  operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
}
