import { h } from 'preact'
import { ask, query } from './api.js'
import { stateOf } from './cell.js'
import { CellsOfCloud } from './cells-below.js'
import { Acts, Bar, gib, Heading, kindOf, Loaded, link, path, State, serverLink, Table, Time, useData, word } from './parts.js'

const EVERY_MS = 5_000

/** A host: its state, its servers, and what an operator does to it. */
export function Host({ id }) {
  const data = useData(async (signal) => {
    const at = `federation/v1/hosts/${encodeURIComponent(id)}`
    const [host, { servers }, { cells }] = await Promise.all([
      ask(at, { signal }),
      ask(`${at}/servers${query({ limit: 1_000 })}`, { signal }),
      ask('federation/v1/cells', { signal }),
    ])
    return { host, servers, cell: cells.find((cell) => cell.id === host.cell_id) }
  }, [id], EVERY_MS)
  const name = data.value?.host.name ?? id
  return [h(Heading, null, `Host ${name}`), h(Loaded, { data, show: (value) => h(Whole, { ...value, reload: data.reload }) })]
}

function Whole({ host, servers, cell, reload }) {
  const { total, used, ratios } = host
  const limit = (of) => Math.floor(total[of] * ratios[of])
  return [
    h(
      'dl',
      { class: 'facts' },
      h('div', null, h('dt', null, 'Cell'), h('dd', null, cell === undefined ? host.cell_id : link(path('cells', cell.name), cell.name))),
      h('div', null, h('dt', null, 'State'), h('dd', null, h(State, null, stateOf(host)), ' ', host.down_reason ?? host.cordon_reason ?? '')),
      h('div', null, h('dt', null, 'Driver'), h('dd', null, host.is_simulated ? `${host.driver} (simulated)` : host.driver)),
      h('div', null, h('dt', null, 'Zone'), h('dd', null, host.zone)),
      h('div', null, h('dt', null, 'Last seen'), h('dd', null, h(Time, { at: host.last_seen_at }))),
    ),
    total !== null && [
      h(Bar, { label: 'vCPUs', used: used.vcpus, total: limit('vcpus') }),
      h(Bar, { label: 'Memory', used: gib(used.memory_mb), total: gib(limit('memory_mb')), unit: ' GiB' }),
      h(Bar, { label: 'Disk', used: used.disk_gb, total: limit('disk_gb'), unit: ' GiB' }),
    ],
    h(HostActs, { host, cell, reload }),
    host.is_up && host.capabilities.includes('below') && h(CellsOfCloud, { host: host.id }),
    h('h2', null, 'Servers'),
    h('div', { class: 'squares' }, servers.map((server) => h(Square, { key: server.id, server }))),
    h(Table, {
      caption: 'Servers on this host',
      none: 'It has no server.',
      rows: servers,
      columns: [
        ['Server', (server) => serverLink(server.id, server.name)],
        ['Status', ({ status }) => h(State, null, status)],
        ['Project', ({ project_id }) => h('code', null, project_id)],
      ],
    }),
  ]
}

function HostActs({ host, cell, reload }) {
  const at = `federation/v1/hosts/${host.id}`
  const where = cell === undefined ? '' : ` --cell ${word(cell.name)}`
  const set = async (body) => {
    await ask(at, { method: 'PATCH', body })
    reload()
  }
  const command = (verb) => `./weir host ${verb} ${word(host.name)}${where}`
  const cordon = host.is_cordoned
    ? { label: 'Uncordon', command: command('uncordon'), act: () => set({ is_cordoned: false }) }
    : { label: 'Cordon', command: command('cordon'), act: () => set({ is_cordoned: true }) }
  return [h(Acts, { acts: [cordon] }), h('p', null, link(path('hosts', host.id, 'drain'), 'Drain it'))]
}

function Square({ server: { id, name, status } }) {
  const label = `${name || id}: ${status}`
  return h('a', { class: `square server ${kindOf(status)}`, href: path('servers', id), title: label, 'aria-label': label })
}
