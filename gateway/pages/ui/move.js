import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, query } from './api.js'
import { Choice, Text } from './fields.js'
import { Acts, Heading, Loaded, link, path, serverLink, useData, word } from './parts.js'
import { Preview } from './preview.js'

const HOSTS_MAX = 1_000
const METHODS = [
  { method: 'live', in: ['ACTIVE', 'PAUSED'], label: 'to another host of its cell, while it runs' },
  { method: 'cold', in: ['ACTIVE', 'SHUTOFF'], label: 'to another host of its cell, shut down meanwhile' },
  { method: 'cell', in: ['ACTIVE', 'SHUTOFF'], label: 'to another cell, shut down meanwhile' },
]

/** A form that moves a server to another host or cell; a dry run shows what the scheduler would choose. */
export function Move({ id }) {
  const data = useData(async (signal) => {
    const get = (path) => ask(path, { signal })
    const at = encodeURIComponent(id)
    const [{ server }, { cell, host }, { cells }, { ports }] = await Promise.all([
      get(`compute/v2.1/servers/${at}`),
      get(`federation/v1/servers/${at}/trace`),
      get('federation/v1/cells'),
      get(`networking/v2.0/ports?device_id=${at}`),
    ])
    const { hosts } = cell === null ? { hosts: [] } : await get(`federation/v1/hosts${query({ cell, limit: HOSTS_MAX })}`)
    return { server, cell, host, cells, hosts, networks: [...new Set(ports.map(({ network_id: network }) => network))] }
  }, [id])
  const name = data.value?.server.name ?? id
  return [h(Heading, null, `Move server ${name}`), h(Loaded, { data, show: (value) => h(Form, value) })]
}

function Form({ server, cell, host, cells, hosts, networks }) {
  const methods = METHODS.filter((each) => each.in.includes(server.status))
  const [values, setValues] = useState({ method: methods[0]?.method, host: '', cell: '', reason: '' })
  const set = (change) => setValues({ ...values, ...change })
  const from = h('p', null, serverLink(server.id, server.name), ` is ${server.status} in cell `, cell === null ? 'none' : link(path('cells', cell), cell), `, on host ${host ?? 'none'}.`)
  if (methods.length === 0) return [from, h('p', null, 'No server moves in this status.')]
  const field = { values, set }
  const others = cells.filter(({ name }) => name !== cell).map(({ name }) => name)
  const able = hosts.filter((each) => each.is_up && !each.is_cordoned && each.name !== host).map(({ name }) => name)
  const whither = values.method === 'cell' ? values.cell || 'another cell' : values.host || 'another host'
  const move = { label: 'Move', ask: `Move ${server.name} to ${whither}?`, command: commandOf(server.id, values), act: () => begin(server.id, values) }
  return [
    from,
    h(
      'div',
      { class: 'create' },
      h(
        'form',
        { onSubmit: (event) => event.preventDefault() },
        h(Choice, { ...field, name: 'method', label: 'Move', options: methods.map(({ method, label }) => [method, label]) }),
        values.method === 'cell'
          ? [
              h(Choice, { ...field, name: 'cell', label: 'Cell', options: [['', 'any other that can take it'], ...others.map((name) => [name, name])] }),
              h(Text, { ...field, name: 'reason', label: 'Reason, shown to operators', maxLength: 255 }),
            ]
          : h(Text, { ...field, name: 'host', label: 'Host (the scheduler chooses, if empty)', suggestions: able, maxLength: 255 }),
        h(Acts, { acts: [move] }),
      ),
      server.image?.id === undefined
        ? h('p', null, 'It started from a volume: where it would go is not known before.')
        : h(Preview, { body: dryRun({ server, cell, networks }, values) }),
    ),
  ]
}

async function begin(id, { method, host, cell, reason }) {
  const at = `compute/v2.1/servers/${encodeURIComponent(id)}/action`
  if (method === 'cell') {
    const body = { ...(cell !== '' && { cell }), ...(reason !== '' && { reason }) }
    const operation = await ask(`federation/v1/servers/${encodeURIComponent(id)}/move`, { method: 'POST', body })
    location.hash = path('operations', operation.id)
    return
  }
  const body = method === 'live' ? { 'os-migrateLive': { host: host || null, block_migration: 'auto' } } : { migrate: host === '' ? null : { host } }
  await ask(at, { method: 'POST', body })
  location.hash = path('servers', id)
}

function commandOf(id, { method, host, cell, reason }) {
  if (method === 'cell') return `./weir server move ${id}${cell && ` --cell ${word(cell)}`}${reason && ` --reason ${word(reason)}`}`
  return `openstack --os-compute-api-version 2.56 server migrate${method === 'live' ? ' --live-migration' : ''}${host && ` --host ${word(host)}`} ${id}`
}

/** What asks the scheduler for a server of the same kind, where this move may end. */
function dryRun({ server, cell, networks }, { method, host, cell: wanted }) {
  const hints = method === 'cell' ? { different_cell: [cell], ...(wanted !== '' && { target_cell: wanted }) } : { target_cell: cell, different_host: [server.id] }
  return {
    flavor: server.flavor.original_name,
    image: server.image.id,
    project: server.tenant_id,
    networks,
    ...(method !== 'cell' && host !== '' && { host }),
    hints: cell === null ? {} : hints,
  }
}
