import { h } from 'preact'
import { ask } from './api.js'
import { Acts, Bar, Heading, Loaded, State, Table, Time, useData } from './parts.js'

const EVERY_MS = 3_000

/** Long work that operators began, and what is stuck. */
export function Operations() {
  const data = useData((signal) => ask('federation/v1/operations?limit=100', { signal }), [], EVERY_MS)
  const post = (id, what) => async () => {
    await ask(`federation/v1/operations/${id}/${what}`, { method: 'POST' })
    data.reload()
  }
  const acts = ({ id, state, is_cancellable: isCancellable }) => [
    ...(isCancellable ? [{ label: 'Cancel', command: `./weir operation cancel ${id}`, act: post(id, 'cancel') }] : []),
    ...(state === 'failed' ? [{ label: 'Continue', command: `./weir operation continue ${id}`, act: post(id, 'continue') }] : []),
  ]
  return [
    h(Heading, null, 'Operations'),
    h(Loaded, {
      data,
      show: ({ operations }) =>
        h(Table, {
          caption: 'The newest first',
          none: 'No operation is in progress or stuck.',
          rows: operations,
          columns: [
            ['What', ({ kind }) => kind],
            ['Of', ({ subject, subject_id: id }) => subject || id],
            ['Cell', ({ cell }) => cell],
            ['State', ({ state }) => h(State, null, state)],
            ['Progress', ({ total, remaining, message }) => [total !== null && remaining !== null && h(Bar, { label: 'Servers gone', used: total - remaining, total }), message]],
            ['Begun', ({ started_at: at }) => h(Time, { at })],
            ['Acts', (operation) => h(Acts, { acts: acts(operation) })],
          ],
        }),
    }),
  ]
}
