import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, query } from './api.js'
import { Heading, Loaded, link, Pages, path, State, serverLink, Table, Time, useData } from './parts.js'

const PAGE = 100
const EVERY_MS = 5_000
const STATUSES = ['ACTIVE', 'BUILD', 'SHUTOFF', 'PAUSED', 'SUSPENDED', 'SHELVED_OFFLOADED', 'VERIFY_RESIZE', 'RESCUE', 'ERROR']

/** Servers, a page at a time: of all projects for operators who ask for a cell or a status, of the project otherwise. */
export function Servers({ search, session }) {
  const [cursors, setCursors] = useState([])
  const cursor = cursors.at(-1)
  const isFederation = session.is_admin && search.name === undefined && search.ip === undefined
  const load = (signal) => (isFederation ? ofFederation(search, cursor, signal) : ofCompute(search, cursor, session, signal))
  const data = useData(load, [JSON.stringify(search), cursor], EVERY_MS)
  const set = (name, value) => {
    const { [name]: _, ...rest } = search
    location.hash = `${path('servers')}${query({ ...rest, [name]: value })}`
  }
  return [
    h(Heading, null, 'Servers'),
    h(
      'form',
      { class: 'filters', onSubmit: (event) => event.preventDefault() },
      h(
        'label',
        null,
        'Status ',
        h(
          'select',
          { value: search.status ?? '', onChange: ({ target }) => set('status', target.value) },
          h('option', { value: '' }, 'any'),
          STATUSES.map((status) => h('option', { key: status, value: status, selected: status === search.status }, status)),
        ),
      ),
      ['cell', 'name', 'ip', 'project', 'host']
        .filter((name) => search[name] !== undefined)
        .map((name) => h('button', { key: name, type: 'button', 'aria-label': `Remove the filter ${name} ${search[name]}`, onClick: () => set(name, '') }, `${name}: ${search[name]} ✕`)),
      !session.is_admin && link(path('create'), 'Create a server'),
    ),
    h(Loaded, { data, show: ({ rows, next }) => [h(List, { rows, isFederation }), h(Pages, { cursors, setCursors, next })] }),
  ]
}

async function ofFederation({ cell, host, project, status }, cursor, signal) {
  const { servers, next } = await ask(`federation/v1/servers${query({ cell, host, project, status, limit: PAGE, cursor })}`, { signal })
  const rows = servers.map((server) => ({ ...server, size: server.flavor.name, created: server.created_at }))
  return { rows, next }
}

async function ofCompute({ name, ip, status }, marker, session, signal) {
  const all = session.is_admin ? 'true' : undefined
  // A name is looked for as text, not as a pattern.
  const pattern = name?.replaceAll(/[.*+?^${}()|[\]\\]/g, String.raw`\$&`)
  const { servers } = await ask(`compute/v2.1/servers/detail${query({ name: pattern, ip, status, all_tenants: all, limit: PAGE, marker })}`, { signal })
  const rows = servers.map(({ id, name: shown, status: is, flavor, created, addresses, ...more }) => ({
    id,
    name: shown,
    status: is,
    size: flavor.original_name,
    created,
    zone: more['OS-EXT-AZ:availability_zone'],
    addresses: Object.values(addresses).flat().map(({ addr }) => addr).join(', '),
  }))
  return { rows, next: rows.length < PAGE ? null : rows.at(-1).id }
}

function List({ rows, isFederation }) {
  const places = isFederation
    ? [['Cell', ({ cell }) => (cell === null ? '' : link(path('cells', cell), cell))], ['Host', ({ host }) => host]]
    : [['Addresses', ({ addresses }) => addresses], ['Zone', ({ zone }) => zone]]
  return h(Table, {
    caption: 'Servers',
    none: 'There is no such server.',
    rows,
    columns: [
      ['Server', ({ id, name }) => serverLink(id, name)],
      ['Status', ({ status, fault }) => [h(State, null, status), fault && ` ${fault}`]],
      ['Flavor', ({ size }) => size],
      ...places,
      ['Created', ({ created }) => h(Time, { at: created })],
    ],
  })
}
