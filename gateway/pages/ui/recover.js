// What an operator does about a cell that does not come back.
import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, query } from './api.js'
import { Choice, Text } from './fields.js'
import { Acts, counted, Facts, Heading, Loaded, link, path, serverLink, State, Table, Time, useData, word } from './parts.js'

const EVERY_MS = 5_000
const cellAt = (name) => `federation/v1/cells/${encodeURIComponent(name)}`

/** Declares a cell lost, once it has shown what that takes. */
export function Lose({ id: name }) {
  const data = useData((signal) => ask(cellAt(name), { signal }), [name], EVERY_MS)
  return [h(Heading, null, `Declare cell ${name} lost`), h(Loaded, { data, show: (cell) => h(LoseForm, { cell }) })]
}

function LoseForm({ cell }) {
  const { id, name, summary, loss, is_reachable: isReachable, last_heard_at: heardAt } = cell
  const [values, setValues] = useState({ statement: '' })
  const statement = values.statement.trim()
  if (loss !== null) return h('p', null, `Cell ${name} was declared lost. `, link(path('cells', name, 'recover'), 'Build its servers again'), '.')
  const act = async () => {
    await ask(`federation/v1/cells/${id}/lost`, { method: 'POST', body: { statement } })
    location.hash = path('cells', name, 'recover')
  }
  const lose = { label: 'Declare lost', isDangerous: true, ask: `Declare ${name} lost? This is permanent.`, command: `./weir cell lost ${word(name)} --stopped ${word(statement)} --yes`, act }
  const facts = [
    ['State', h(State, null, isReachable ? 'up' : 'unreachable')],
    ['Last heard', h(Time, { at: heardAt })],
    ['Hosts', summary?.hosts ?? 'unknown'],
    ['Servers', link(`#/servers${query({ cell: name })}`, summary?.servers ?? 'unknown')],
  ]
  return [
    h(Facts, { facts }),
    h('p', null, 'Servers that had run are then in ERROR until they are built again in other cells. If the machines of the cell come back, they destroy what they still have of these servers.'),
    isReachable
      ? h('p', { class: 'problem' }, 'The cell is reachable: it cannot be declared lost.')
      : h(
          'form',
          { class: 'narrow', onSubmit: (event) => event.preventDefault() },
          h(Text, { values, set: setValues, name: 'statement', label: 'How its machines were stopped; this is recorded, not checked', maxLength: 1_000, required: true }),
          statement !== '' && h(Acts, { acts: [lose] }),
        ),
  ]
}

/** Builds the servers of a lost cell again, once it has shown from what. */
export function Recover({ id: name }) {
  const [values, setValues] = useState({ source: 'snapshot', parallel: '10', reason: '' })
  const set = (change) => setValues({ ...values, ...change })
  const { source } = values
  const data = useData((signal) => ask(`${cellAt(name)}/recovery${query({ source })}`, { signal }), [name, source])
  const field = { values, set }
  return [
    h(Heading, null, `Build the servers of cell ${name} again`),
    h(
      'form',
      { class: 'narrow', onSubmit: (event) => event.preventDefault() },
      h(Choice, { ...field, name: 'source', label: 'From', options: [['snapshot', 'the newest snapshot of each, or its image'], ['image', 'its image']] }),
      h(Text, { ...field, name: 'parallel', label: 'At a time', type: 'number', min: 1, max: 1_000, required: true }),
      h(Text, { ...field, name: 'reason', label: 'Reason, shown to operators', maxLength: 255 }),
    ),
    h(Loaded, { data, show: ({ servers }) => h(DryRun, { name, servers, values }) }),
  ]
}

function DryRun({ name, servers, values: { source, parallel, reason } }) {
  const possible = servers.filter((each) => each.source !== null)
  const many = counted(possible.length, 'server')
  const act = async () => {
    const body = { source, parallel: Number(parallel), ...(reason !== '' && { reason }) }
    const operation = await ask(`${cellAt(name)}/recovery`, { method: 'POST', body })
    location.hash = path('operations', operation.id)
  }
  const command = `./weir cell recover ${word(name)} --from ${source} --parallel ${parallel || 10}${reason && ` --reason ${word(reason)}`}`
  const recover = { label: `Build ${many}`, ask: `Build ${many} of ${name} again in other cells?`, command, act }
  return [
    h(Table, {
      caption: 'What would be built, and from what',
      none: 'No server was taken from this cell that could be built again.',
      rows: servers.map((server) => ({ id: server.server_id, ...server })),
      columns: [
        ['Server', ({ id, name: shown }) => serverLink(id, shown)],
        ['From', ({ source: from, reason: why }) => from ?? h('span', { class: 'problem' }, why)],
        ['Image', ({ image_id: image }) => image !== null && h('code', null, image)],
        ['Project', ({ project_id: project }) => h('code', null, project)],
      ],
    }),
    possible.length > 0 && h(Acts, { acts: [recover] }),
  ]
}
