import type { operations } from '#openapi/compute.gen.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'
import { findServer } from './find-server.ts'

type Action =
  operations['listInstanceActions']['responses'][200]['content']['application/json']['instanceActions'][number]

const LISTING: Listing<Action> = {
  plural: 'actions',
  nameOf: ({ request_id }) => request_id,
  columns: [
    { head: 'BEGUN', of: ({ start_time }) => start_time },
    { head: 'ACTION', of: ({ action }) => action },
    {
      head: 'MESSAGE',
      of: ({ message }) => message,
      tone: ({ message }) => (message === null ? undefined : 'bad'),
    },
    { head: 'REQUEST', of: ({ request_id }) => request_id },
    { head: 'USER', of: ({ user_id }) => user_id, isWide: true },
    { head: 'UPDATED', of: ({ updated_at }) => updated_at ?? null, isWide: true },
  ],
}

/** Shows what was done to a server, the newest first. */
export async function listActions(
  operator: Operator,
  wanted: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async (session) => {
    const { instanceActions } = await session.compute.ask(
      'get',
      '/v2.1/servers/{server_id}/os-instance-actions',
      { path: { server_id: await findServer(session, wanted) } },
    )
    return listView(instanceActions, LISTING)
  })
}
