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

/** Afterwards it goes no further, and is shown. */
export async function cancelOperation(
  operator: Operator,
  operation: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { operation }
    const ended = await federation.ask('post', '/v1/operations/{operation}/cancel', { path })
    return fieldsView(ended, operationListing(Date.now()))
  })
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
