import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, query } from './api.js'
import { Check, Text } from './fields.js'
import { Acts, Heading, Loaded, link, path, State, serverLink, Table, useData, word } from './parts.js'

/** A form that drains a host; it shows first which servers would go. */
export function Drain({ id }) {
  const data = useData(async (signal) => {
    const at = `federation/v1/hosts/${encodeURIComponent(id)}`
    const [host, { servers, next }, { cells }] = await Promise.all([
      ask(at, { signal }),
      ask(`${at}/servers${query({ limit: 1_000 })}`, { signal }),
      ask('federation/v1/cells', { signal }),
    ])
    return { host, servers, next, cell: cells.find((cell) => cell.id === host.cell_id) }
  }, [id])
  return [h(Heading, null, `Drain host ${data.value?.host.name ?? id}`), h(Loaded, { data, show: (value) => h(Form, value) })]
}

function Form({ host, servers, next, cell }) {
  const [values, setValues] = useState({ move: true, live_only: false, to_other_cells: false, parallel: '2', reason: '' })
  const set = (change) => setValues({ ...values, ...change })
  const field = { values, set }
  const begin = (more) => async () => {
    const { parallel, reason, ...how } = values
    const body = { ...how, parallel: Number(parallel), ...(reason !== '' && { reason }), ...more }
    const operation = await ask(`federation/v1/hosts/${host.id}/drain`, { method: 'POST', body })
    location.hash = path('operations', operation.id)
  }
  const drain = { label: 'Drain', ask: `Drain ${host.name}? It will get no new servers.`, command: `./weir host drain ${optionsOf(host, cell, values)}`, act: begin({}) }
  const question = `Evacuate ${host.name}? Guests that still run there would run twice, and destroy their data: make sure that the host is off.`
  const evacuate = { label: 'Evacuate', isDangerous: true, ask: question, command: `./weir host evacuate ${whichHost(host, cell)} --yes`, act: begin({ move: true, evacuate: true }) }
  return [
    h('p', null, link(path('hosts', host.id), host.name), ' will get no new servers, and its servers will move to other hosts of its cell.'),
    h(
      'form',
      { class: 'narrow', onSubmit: (event) => event.preventDefault() },
      h(Check, { ...field, name: 'move', label: 'Move its servers; else it is waited until they are gone' }),
      values.move && [
        h(Check, { ...field, name: 'live_only', label: 'Stop no server to move it' }),
        h(Check, { ...field, name: 'to_other_cells', label: 'Move servers that no other host takes to other cells, shut down meanwhile' }),
        h(Text, { ...field, name: 'parallel', label: 'At a time', type: 'number', min: 1, max: 100, required: true }),
      ],
      h(Text, { ...field, name: 'reason', label: 'Reason, shown to operators', maxLength: 255 }),
      h(Acts, { acts: host.is_up ? [drain] : [drain, evacuate] }),
    ),
    h(Table, {
      caption: next === null ? 'Servers that are on it now' : 'The first servers that are on it now',
      none: 'It has no server.',
      rows: servers,
      columns: [
        ['Server', (server) => serverLink(server.id, server.name)],
        ['Status', ({ status }) => h(State, null, status)],
        ['Project', ({ project_id: project }) => h('code', null, project)],
      ],
    }),
  ]
}

const whichHost = (host, cell) => `${word(host.name)}${cell === undefined ? '' : ` --cell ${word(cell.name)}`}`

function optionsOf(host, cell, { move, live_only: liveOnly, to_other_cells: toOtherCells, parallel, reason }) {
  const how = move ? [parallel !== '2' && `--parallel ${parallel}`, liveOnly && '--live-only', toOtherCells && '--to-other-cells'] : ['--no-move']
  return [whichHost(host, cell), ...how, reason !== '' && `--reason ${word(reason)}`].filter(Boolean).join(' ')
}
