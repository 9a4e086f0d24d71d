import { h } from 'preact'
import { ask } from './api.js'
import { Acts, Bar, Facts, Heading, Loaded, link, path, State, serverLink, Table, Time, useData } from './parts.js'

const EVERY_MS = 3_000

/** Long work that operators began, and what is stuck. */
export function Operations() {
  const data = useData((signal) => ask('federation/v1/operations?limit=100', { signal }), [], EVERY_MS)
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
            ['What', ({ id, kind }) => link(path('operations', id), kind)],
            ['Of', ({ subject, subject_id: id }) => subject || id],
            ['Cell', ({ cell }) => cell],
            ['State', ({ state }) => h(State, null, state)],
            ['Progress', (operation) => h(Progress, { operation })],
            ['Begun', ({ started_at: at }) => h(Time, { at })],
            ['Acts', (operation) => h(Acts, { acts: actsOn(operation, data.reload) })],
          ],
        }),
    }),
  ]
}

function Progress({ operation: { total, remaining, message } }) {
  return [total !== null && remaining !== null && h(Bar, { label: 'Servers done', used: total - remaining, total, isProgress: true }), message]
}

function actsOn({ id, state, is_cancellable: isCancellable }, reload) {
  const post = (what) => async () => {
    await ask(`federation/v1/operations/${id}/${what}`, { method: 'POST' })
    reload()
  }
  return [
    ...(isCancellable ? [{ label: 'Cancel', command: `./weir operation cancel ${id}`, act: post('cancel') }] : []),
    ...(state === 'failed' ? [{ label: 'Continue', command: `./weir operation continue ${id}`, act: post('continue') }] : []),
  ]
}

/** An operation, with what it has done about each server. */
export function Operation({ id }) {
  const data = useData((signal) => ask(`federation/v1/operations/${encodeURIComponent(id)}`, { signal }), [id], EVERY_MS)
  return [h(Heading, null, `Operation ${data.value?.kind ?? id}`), h(Loaded, { data, show: (operation) => h(Whole, { operation, reload: data.reload }) })]
}

function Whole({ operation, reload }) {
  const { id, state, subject, subject_id: subjectId, cell, request_id: request, moves = [] } = operation
  const { started_at: startedAt, ended_at: endedAt, estimated_end_at: estimatedAt } = operation
  const facts = [
    ['State', h(State, null, state)],
    ['Of', subject || subjectId],
    ['Cell', cell],
    ['Id', h('code', null, id)],
    ['Begun', h(Time, { at: startedAt })],
    ['Ended', endedAt && h(Time, { at: endedAt })],
    ['Expected to end', estimatedAt && h(Time, { at: estimatedAt })],
    ['Request', request && link(`${path('events')}?request=${request}`, h('small', null, request))],
  ]
  return [
    h(Facts, { facts }),
    h(Progress, { operation }),
    h(Acts, { acts: actsOn(operation, reload) }),
    h(Table, {
      caption: 'What was done about each server',
      none: '',
      rows: moves.map((move) => ({ ...move, id: move.server_id })),
      columns: [
        ['Server', ({ id: server, name }) => serverLink(server, name)],
        ['State', ({ state: is, method }) => [h(State, null, is), method && ` ${method}`]],
        ['Tries', ({ tries }) => tries],
        ['Reason', ({ reason }) => reason],
      ],
    }),
  ]
}
