import type { components } from '#openapi/federation.gen.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { age } from '../output/age.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView } from '../output/view.ts'
import { findServer } from './find-server.ts'

type Protection = components['schemas']['Protection']

export interface ProtectOptions extends ViewOptions {
  /** Seconds. */
  readonly every: number
  readonly keep: number
  /** A cell. */
  readonly to?: string
}

/** Afterwards backups of the server are made by this schedule, which is shown. */
export async function protectServer(
  operator: Operator,
  wanted: string,
  { every, keep, to, ...options }: ProtectOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const path = { server: await findServer(session, wanted) }
    const body = { every_s: every, keep, to_cell: to ?? null }
    const call = { path, body }
    const made = await session.federation.ask('put', '/v1/servers/{server}/protection', call)
    return fieldsView(made, protectionListing(Date.now()))
  })
}

/** Afterwards no more backups of the server are made. */
export async function unprotectServer(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  const session = await openSession(operator, options)
  const path = { server: await findServer(session, wanted) }
  await session.federation.ask('delete', '/v1/servers/{server}/protection', { path })
  operator.err.write(`No more backups of ${wanted} are made. Those that there are stay.\n`)
}

/** Shows the schedules of all servers, with their last backups. */
export async function listProtections(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const protections = await everyPage(async (cursor) => {
      const page = await federation.ask('get', '/v1/protections', { query: cursor })
      return { items: page.protections, next: page.next }
    })
    return listView(protections, protectionListing(Date.now()))
  })
}

function protectionListing(now: number): Listing<Protection> {
  return {
    plural: 'protected servers',
    nameOf: ({ server_id }) => server_id,
    columns: [
      { head: 'SERVER', of: ({ name }) => name },
      { head: 'EVERY', of: ({ every_s }) => `${every_s} s` },
      { head: 'KEEP', of: ({ keep }) => keep },
      { head: 'LAST', of: ({ last_at }) => (last_at === null ? null : age(last_at, now)) },
      { head: 'NEXT', of: ({ next_at }) => next_at },
      { head: 'ERROR', of: ({ last_error }) => last_error },
      { head: 'REPLICA', of: ({ replica }) => replica && (replica.cell ?? replica.cell_id) },
      {
        head: 'REPLICA AGE',
        of: ({ replica }) => (replica?.made_at ? age(replica.made_at, now) : null),
      },
      { head: 'WHY LATE', of: ({ replica }) => replica && replica.error },
      { head: 'REPLICA IMAGE', of: ({ replica }) => replica && replica.image_id, isWide: true },
      { head: 'IMAGE', of: ({ last_image_id }) => last_image_id, isWide: true },
      { head: 'ID', of: ({ server_id }) => server_id, isWide: true },
      { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
    ],
  }
}
