import { Failure } from '#common/errors.ts'
import type { operations } from '#openapi/federation.gen.ts'
import type { AnswerOf } from '../cloud/service-client.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView } from '../output/view.ts'

export interface OrphanOptions extends ViewOptions {
  readonly adopt?: string
  readonly project?: string
  readonly end?: string
  readonly yes?: true
}

const LISTING: Listing<AnswerOf<operations['listOrphans']>['orphans'][number]> = {
  plural: 'orphans',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'ID', of: ({ id }) => id },
    { head: 'NAME', of: ({ name }) => name },
    { head: 'STATE', of: ({ state }) => state },
    { head: 'HOST', of: ({ host }) => host },
    { head: 'LAUNCHED', of: ({ launched_at }) => launched_at },
  ],
}

const ADOPTED: Listing<AnswerOf<operations['adoptOrphan']>> = {
  plural: 'servers',
  nameOf: ({ server_id }) => server_id,
  columns: [
    { head: 'SERVER ID', of: ({ server_id }) => server_id },
    { head: 'MISSING', of: ({ missing }) => missing.join('; ') },
  ],
}

/** Shows the servers of a cell that the gateways do not know, adopts one, or has the cell delete one. */
export async function listOrphans(
  operator: Operator,
  cell: string,
  options: OrphanOptions,
): Promise<void> {
  const { adopt, end } = options
  const asked = [adopt, end, options.watch].filter((each) => each !== undefined)
  if (asked.length > 1) throw new Failure('invalid', 'Give one of --adopt, --end and --watch.')
  if (adopt !== undefined) return adoptOne(operator, cell, adopt, options)
  if (end !== undefined) return endOne(operator, cell, end, options)
  return present(operator, options, async ({ federation }) => {
    const { orphans } = await federation.ask('get', '/v1/cells/{cell}/orphans', { path: { cell } })
    return listView(orphans, LISTING)
  })
}

async function adoptOne(
  operator: Operator,
  cell: string,
  orphan: string,
  { project, ...options }: OrphanOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const adopted = await federation.ask('post', '/v1/cells/{cell}/orphans/{orphan}/adopt', {
      path: { cell, orphan },
      body: project === undefined ? {} : { project },
    })
    return fieldsView(adopted, ADOPTED)
  })
}

async function endOne(
  operator: Operator,
  cell: string,
  orphan: string,
  options: OrphanOptions,
): Promise<void> {
  if (options.yes !== true)
    throw new Failure(
      'invalid',
      `This ends server ${orphan} and its disks. To do it, run: ./weir cell orphans ${cell} --end ${orphan} --yes`,
    )
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/cells/{cell}/orphans/{orphan}', { path: { cell, orphan } })
  operator.err.write(`Cell ${cell} ends server ${orphan}.\n`)
}
