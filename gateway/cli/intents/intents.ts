import type { components } from '#openapi/federation.gen.ts'
import { cellNames } from '../cells/cell-names.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { age } from '../output/age.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'
import { findServer } from '../servers/find-server.ts'

type Intent = components['schemas']['Intent']

export interface IntentOptions extends ViewOptions {
  readonly cell?: string
  readonly server?: string
}

export async function listIntents(operator: Operator, options: IntentOptions): Promise<void> {
  await present(operator, options, async (session) => {
    const { federation } = session
    const { cell, server } = options
    const of = {
      ...(cell === undefined ? {} : { cell }),
      ...(server === undefined ? {} : { server: await findServer(session, server) }),
    }
    const [{ cells }, intents] = await Promise.all([
      federation.ask('get', '/v1/cells'),
      everyPage(async (cursor) => {
        const page = await federation.ask('get', '/v1/intents', { query: { ...of, ...cursor } })
        return { items: page.intents, next: page.next }
      }),
    ])
    return listView(intents, intentListing(cellNames(cells), Date.now()))
  })
}

function intentListing(names: ReadonlyMap<string, string>, now: number): Listing<Intent> {
  return {
    plural: 'intents',
    nameOf: ({ id }) => id,
    columns: [
      { head: 'SERVER', of: ({ server_id }) => server_id },
      { head: 'ACTION', of: ({ action }) => action },
      {
        head: 'CELL',
        of: ({ cell_id }) => (cell_id === null ? null : (names.get(cell_id) ?? cell_id)),
      },
      { head: 'AGE', of: ({ created_at }) => age(created_at, now) },
      { head: 'ID', of: ({ id }) => id },
      { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
      { head: 'USER', of: ({ user_id }) => user_id, isWide: true },
      { head: 'REQUEST', of: ({ request_id }) => request_id, isWide: true },
    ],
  }
}

/** Afterwards it is not carried out. Throws `not-found` once a gateway has begun to carry it out. */
export async function cancelIntent(
  operator: Operator,
  id: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  await federation.ask('delete', '/v1/intents/{intent}', { path: { intent: id } })
  operator.err.write(`Intent ${id} is taken back: the server stays as it is.\n`)
}
