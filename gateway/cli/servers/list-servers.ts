import { Failure, isFailure } from '#common/errors.ts'
import type { components, operations } from '#openapi/federation.gen.ts'
import type { Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { age } from '../output/age.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import type { Emphasis } from '../output/style.ts'
import { type Listing, listView } from '../output/view.ts'

export type OperatedServer = components['schemas']['OperatedServer']
type Query = NonNullable<operations['listOperatedServers']['parameters']['query']>
export type ServerStatus = NonNullable<Query['status']>

export interface ServerListOptions extends ViewOptions {
  readonly cell?: string
  readonly host?: string
  readonly project?: string
  readonly status?: ServerStatus
  readonly limit: number
}

/** Shows servers of all cells and projects, the newest first. */
export async function listServers(operator: Operator, options: ServerListOptions): Promise<void> {
  const { cell, host, project, status, limit } = options
  const query = {
    ...(cell === undefined ? {} : { cell }),
    ...(host === undefined ? {} : { host }),
    ...(project === undefined ? {} : { project }),
    ...(status === undefined ? {} : { status }),
  }
  await present(operator, options, async (session) => {
    const servers = await readServers(session, query, limit).catch((error: unknown) => {
      throw withNextCommand(error)
    })
    return listView(servers, serverListing(Date.now()))
  })
}

/** Adds the command that lists the existing hosts or projects to the failure for an unknown one. */
function withNextCommand(error: unknown): unknown {
  if (!isFailure(error, 'not-found')) return error
  const [, what = ''] = /^There is no (host|project)\b/.exec(error.message) ?? []
  const command = { host: './weir host list', project: 'openstack project list' }[what]
  return command === undefined
    ? error
    : new Failure('not-found', `${error.message} See: ${command}`)
}

/** At most `max` servers, the newest first. */
export function readServers(
  { federation }: Session,
  query: Query,
  max: number,
): Promise<readonly OperatedServer[]> {
  return everyPage(async (cursor) => {
    const page = await federation.ask('get', '/v1/servers', { query: { ...query, ...cursor } })
    return { items: page.servers, next: page.next }
  }, max)
}

/** How servers are shown at an instant. */
export function serverListing(now: number): Listing<OperatedServer> {
  return {
    plural: 'servers',
    nameOf: ({ id }) => id,
    columns: [
      { head: 'NAME', of: ({ name }) => name },
      { head: 'STATUS', of: ({ status }) => status, emphasis: ({ status }) => EMPHASES[status] },
      { head: 'TASK', of: ({ task_state }) => task_state },
      { head: 'CELL', of: ({ cell, cell_id }) => cell ?? cell_id },
      { head: 'HOST', of: ({ host }) => host },
      { head: 'FLAVOR', of: ({ flavor }) => flavor.name },
      { head: 'AGE', of: ({ created_at }) => age(created_at, now) },
      { head: 'ID', of: ({ id }) => id },
      { head: 'VCPUS', of: ({ flavor }) => flavor.vcpus, isWide: true },
      { head: 'MIB', of: ({ flavor }) => flavor.memory_mb, isWide: true },
      { head: 'ZONE', of: ({ zone }) => zone, isWide: true },
      { head: 'PROJECT', of: ({ project_id }) => project_id, isWide: true },
      { head: 'FAULT', of: ({ fault }) => fault, isWide: true },
    ],
  }
}

const EMPHASES: Readonly<Record<string, Emphasis>> = { ACTIVE: 'success', ERROR: 'error' }
