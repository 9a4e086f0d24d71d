import type { operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import { openSession } from '../cloud/session.ts'
import { operationListing } from '../operations/operation-listing.ts'
import { type WaitOptions, waitForOperation } from '../operations/wait-for-operation.ts'
import type { Operator } from '../operator.ts'
import { styleFor } from '../output/style.ts'
import { fieldsView, type Listing, listView, rendered, type View } from '../output/view.ts'

export interface RecoverOptions extends WaitOptions {
  readonly from?: 'snapshot' | 'image'
  readonly parallel?: number
  readonly reason?: string
  readonly dryRun?: true
  readonly wait?: true
}

type Recoverable = AnswerOf<operations['explainRecovery']>['servers'][number]

const RECOVERABLE: Listing<Recoverable> = {
  plural: 'servers',
  nameOf: ({ server_id }) => server_id,
  columns: [
    { head: 'SERVER', of: ({ name }) => name },
    { head: 'OTHER CELL', of: ({ cell }) => cell },
    { head: 'FROM', of: ({ source }) => source },
    { head: 'IMAGE', of: ({ image_id }) => image_id },
    { head: 'KEPT AT', of: ({ replica_cell }) => replica_cell },
    { head: 'REASON', of: ({ reason }) => reason },
    { head: 'ID', of: ({ server_id }) => server_id },
    { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
  ],
}

/**
 * Afterwards the servers of a lost cell are being built again in other cells, and the operation is shown; with `wait`, it
 * has ended. A dry run shows in which cell each would be built, and from what, or why not; of a cell that was not declared
 * lost, what would happen if it were.
 */
export async function recoverCell(
  operator: Operator,
  cell: string,
  options: RecoverOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const { from, parallel, reason } = options
  const path = { cell }
  const show = async (view: View) => {
    operator.out.write(await rendered(view, options.output, styleFor(operator.out, operator.env)))
  }
  if (options.dryRun === true) {
    const query = from === undefined ? {} : { source: from }
    const forecast = await federation.ask('get', '/v1/cells/{cell}/recovery', { path, query })
    if (forecast.assumes_loss)
      operator.err.write(
        `Cell ${cell} was not declared lost. If it were, its servers would be built like this.\n`,
      )
    return show(listView(forecast.servers, RECOVERABLE))
  }
  const body = {
    ...(from !== undefined && { source: from }),
    ...(parallel !== undefined && { parallel }),
    ...(reason !== undefined && { reason }),
  }
  const operation = await federation.ask('post', '/v1/cells/{cell}/recovery', { path, body })
  if (options.wait === true) return waitForOperation(operator, operation.id, options)
  await show(fieldsView(operation, operationListing(Date.now())))
}
