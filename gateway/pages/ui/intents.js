import { h } from 'preact'
import { ask, query } from './api.js'
import { Acts, Heading, Loaded, link, path, serverLink, Table, Time, useData } from './parts.js'

const EVERY_MS = 5_000
const PAGE = 100

/** Actions that wait until the cell of their server is reachable again. */
export function Intents({ session }) {
  const data = useData(async (signal) => {
    const [{ intents, next }, { cells }] = await Promise.all([
      ask(`federation/v1/intents${query({ limit: PAGE })}`, { signal }),
      session.is_admin ? ask('federation/v1/cells', { signal }) : { cells: [] },
    ])
    return { intents, next, names: new Map(cells.map(({ id, name }) => [id, name])) }
  }, [], EVERY_MS)
  return [
    h(Heading, null, 'Intents'),
    h('p', null, 'What was asked of servers whose cells do not answer. It is carried out when the cell is back.'),
    h(Loaded, {
      data,
      show: ({ intents, next, names }) =>
        h(Table, {
          caption: next === null ? 'The oldest first' : `The oldest ${PAGE}`,
          none: 'Nothing waits for a cell.',
          rows: intents,
          columns: [
            ['Server', ({ server_id: id }) => serverLink(id)],
            ['Action', ({ action }) => action],
            ...(session.is_admin ? [['Cell', ({ cell_id: id }) => (names.has(id) ? link(path('cells', names.get(id)), names.get(id)) : id)]] : []),
            ['Asked for', ({ created_at: at }) => h(Time, { at })],
            ['Request', ({ request_id: request }) => link(`${path('events')}?request=${request}`, h('small', null, request))],
            ['Acts', (intent) => h(Acts, { acts: [cancelling(intent, data.reload)] })],
          ],
        }),
    }),
  ]
}

function cancelling({ id, action }, reload) {
  return {
    label: 'Cancel',
    ask: `Cancel this ${action}? The server stays as it is.`,
    command: `./weir intent cancel ${id}`,
    act: async () => {
      await ask(`federation/v1/intents/${id}`, { method: 'DELETE' })
      reload()
    },
  }
}

/** The same of one server, where there is one. */
export function IntentOf({ server }) {
  const data = useData(async (signal) => (await ask(`federation/v1/intents${query({ server })}`, { signal })).intents, [server], EVERY_MS)
  const [intent] = data.value ?? []
  if (intent === undefined) return null
  return h(
    'section',
    { 'aria-label': 'Intent' },
    h('p', null, `Its cell does not answer. This waits for the cell: ${intent.action}, asked for `, h(Time, { at: intent.created_at }), '.'),
    h(Acts, { acts: [cancelling(intent, data.reload)] }),
  )
}
