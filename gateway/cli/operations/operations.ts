import { isFailure } from '#common/errors.ts'
import type { Operator } from '../operator.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, listView, viewWithParts } from '../output/view.ts'
import { moveListing, type Operation, operationListing } from './operation-listing.ts'

export interface OperationOptions extends ViewOptions {
  readonly state?: Operation['state']
  readonly limit: number
}

export async function listOperations(operator: Operator, options: OperationOptions): Promise<void> {
  const { state, limit } = options
  const of = state === undefined ? {} : { state }
  await present(operator, options, async ({ federation }) => {
    const found = await everyPage(async (cursor) => {
      const query = { ...of, ...cursor }
      const page = await federation.ask('get', '/v1/operations', { query })
      return { items: page.operations, next: page.next }
    }, limit)
    return listView(found, operationListing(Date.now()))
  })
}

export async function showOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const found = await federation.ask('get', '/v1/operations/{operation}', { path })
    const view = fieldsView(found, operationListing(Date.now()))
    const moves = found.moves ?? []
    if (moves.length === 0) return view
    const part = { heading: 'Moves', view: listView(moves, moveListing(Date.now())) }
    return viewWithParts(view, [part], found)
  })
}

/** Afterwards they go no further, and are shown. Throws what the first said that cannot be cancelled, once all others are. */
export async function cancelOperations(
  operator: Operator,
  operations: readonly string[],
  options: ViewOptions,
): Promise<void> {
  const ended: Operation[] = []
  const failures: unknown[] = []
  await present(operator, options, async ({ federation }) => {
    for (const operation of operations)
      try {
        const path = { operation }
        ended.push(await federation.ask('post', '/v1/operations/{operation}/cancel', { path }))
      } catch (error) {
        if (operations.length === 1 || !isFailure(error, 'conflict', 'not-found')) throw error
        failures.push(error)
      }
    const listing = operationListing(Date.now())
    return operations.length === 1 ? fieldsView(ended[0]!, listing) : listView(ended, listing)
  })
  if (failures.length > 0) throw failures[0]
}

/** Afterwards a stuck operation continues, and is shown. */
export async function continueOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const going = await federation.ask('post', '/v1/operations/{operation}/continue', { path })
    return fieldsView(going, operationListing(Date.now()))
  })
}
