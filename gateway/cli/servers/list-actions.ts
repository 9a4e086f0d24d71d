import type { operations } from '#openapi/compute.gen.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'
import { findServer } from './find-server.ts'

type Listed =
  operations['listInstanceActions']['responses'][200]['content']['application/json']['instanceActions'][number]
type Shown =
  operations['showInstanceAction']['responses'][200]['content']['application/json']['instanceAction']
/** Of one that has failed, its steps are shown too. */
type Action = Listed & Partial<Pick<Shown, 'events'>>

/** So many of those that have failed, the newest, are asked for their steps. */
const REASONS_MAX = 20

const LISTING: Listing<Action> = {
  plural: 'actions',
  nameOf: ({ request_id }) => request_id,
  columns: [
    { head: 'BEGUN', of: ({ start_time }) => start_time },
    { head: 'ACTION', of: ({ action }) => action },
    {
      head: 'MESSAGE',
      of: ({ message }) => message,
      emphasis: ({ message }) => (message === null ? undefined : 'error'),
    },
    { head: 'REQUEST', of: ({ request_id }) => request_id },
    { head: 'REASON', of: reasonOf },
    { head: 'USER', of: ({ user_id }) => user_id, isWide: true },
    { head: 'UPDATED', of: ({ updated_at }) => updated_at ?? null, isWide: true },
  ],
}

/** The message of its newest failed event, which only operators may see. */
function reasonOf({ events = [] }: Action): string | null {
  return events.find(({ details }) => details != null)?.details ?? null
}

/** Shows what was done to a server, the newest first, and why what failed did so. */
export async function listActions(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const server_id = await findServer(session, wanted)
    const actions = '/v2.1/servers/{server_id}/os-instance-actions'
    const { instanceActions } = await session.compute.ask('get', actions, { path: { server_id } })
    const failed = instanceActions.filter(({ message }) => message !== null).slice(0, REASONS_MAX)
    const asked = failed.map(async ({ request_id }) => {
      const path = { server_id, request_id }
      return (await session.compute.ask('get', `${actions}/{request_id}`, { path })).instanceAction
    })
    const shown = new Map((await Promise.all(asked)).map((each) => [each.request_id, each]))
    const all = instanceActions.map((action) => ({ ...action, ...shown.get(action.request_id) }))
    return listView(all, LISTING)
  })
}
