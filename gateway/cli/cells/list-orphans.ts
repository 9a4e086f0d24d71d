import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

export interface OrphanOptions extends ViewOptions {
  readonly end?: string
  readonly yes?: true
}

const LISTING: Listing<AnswerOf<operations['listOrphans']>['orphans'][number]> = {
  nameOf: ({ id }) => id,
  columns: [
    { head: 'ID', of: ({ id }) => id },
    { head: 'NAME', of: ({ name }) => name },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'HOST', of: ({ host }) => host },
    { head: 'LAUNCHED', of: ({ launched_at }) => launched_at },
  ],
}

/** Shows the servers of a cell that are nobody's, or has the cell end one. */
export async function listOrphans(
  operator: Operator,
  cell: string,
  options: OrphanOptions,
): Promise<void> {
  const { end: orphan, yes } = options
  if (orphan === undefined)
    return present(operator, options, async ({ federation }) => {
      const { orphans } = await federation.ask('get', '/v1/cells/{cell}/orphans', {
        path: { cell },
      })
      return listView(orphans, LISTING)
    })
  if (yes !== true)
    throw new Failure(
      'invalid',
      `This ends server ${orphan} and its disks. To do it, run: ./weir cell orphans ${cell} --end ${orphan} --yes`,
    )
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/cells/{cell}/orphans/{orphan}', { path: { cell, orphan } })
  operator.err.write(`Cell ${cell} ends server ${orphan}.\n`)
}
