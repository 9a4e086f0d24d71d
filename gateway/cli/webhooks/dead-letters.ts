import type { components } from '#openapi/federation.gen.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession, type Session } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { everyPage } from '../output/pages.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { type Listing, listView } from '../output/view.ts'

type DeadLetter = components['schemas']['DeadLetter']

const LISTING: Listing<DeadLetter> = {
  plural: 'dead letters',
  nameOf: ({ id }) => id,
  columns: [
    { head: 'ID', of: ({ id }) => id },
    { head: 'EVENT', of: ({ event_id }) => event_id },
    { head: 'TYPE', of: ({ type }) => type },
    { head: 'SERVER', of: ({ event }) => event.server_name ?? event.server_id },
    { head: 'AT', of: ({ event }) => event.at },
    { head: 'ERROR', of: ({ error }) => error },
    { head: 'GIVEN UP', of: ({ at }) => at, isWide: true },
    { head: 'SENT AGAIN SOON', of: ({ is_due }) => is_due, isWide: true },
  ],
}

export async function listDeadLetters(
  operator: Operator,
  id: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) =>
    listView(await deadLettersOf(federation, id), LISTING),
  )
}

/** Afterwards one dead letter, or each that there is, is sent again soon. */
export async function redeliver(
  operator: Operator,
  id: string,
  letter: string | undefined,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const letters =
    letter === undefined ? (await deadLettersOf(federation, id)).map((each) => each.id) : [letter]
  for (const dead_letter of letters)
    await federation.ask('post', '/v1/webhooks/{webhook}/dead-letters/{dead_letter}/redeliver', {
      path: { webhook: id, dead_letter },
    })
  operator.err.write(
    `Dead letters sent again: ${letters.length}. Those that fail again stay in the list: ./weir webhook dead-letters ${id}\n`,
  )
}

function deadLettersOf(
  federation: Session['federation'],
  webhook: string,
): Promise<readonly DeadLetter[]> {
  return everyPage(async (cursor) => {
    const query = cursor
    const page = await federation.ask('get', '/v1/webhooks/{webhook}/dead-letters', {
      path: { webhook },
      query,
    })
    return { items: page.dead_letters, next: page.next }
  })
}
