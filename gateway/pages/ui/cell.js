import { h } from 'preact'
import { ask, query } from './api.js'
import { Acts, Bar, counted, gib, Heading, Loaded, link, path, State, Table, Time, useData } from './parts.js'

const EVERY_MS = 5_000
const HOSTS_MAX = 1_000

/** A cell: its state, its hosts as squares, and what an operator does to it. */
export function Cell({ id: name }) {
  const data = useData(async (signal) => {
    const cell = await ask(`federation/v1/cells/${encodeURIComponent(name)}`, { signal })
    const hosts = await ask(`federation/v1/hosts${query({ cell: cell.id, limit: HOSTS_MAX })}`, { signal })
    return { cell, ...hosts }
  }, [name], EVERY_MS)
  return [h(Heading, null, `Cell ${name}`), h(Loaded, { data, show: (value) => h(Whole, { ...value, reload: data.reload }) })]
}

function Whole({ cell, hosts, next, reload }) {
  const { summary } = cell
  const limits = summary?.limits ?? summary?.total
  return [
    h(
      'dl',
      { class: 'facts' },
      h('div', null, h('dt', null, 'State'), h('dd', null, h(State, null, cell.is_reachable ? 'up' : 'unreachable'))),
      h('div', null, h('dt', null, 'New servers'), h('dd', null, cell.is_enabled ? 'taken' : `refused: ${cell.disabled_reason ?? 'no reason given'}`)),
      h('div', null, h('dt', null, 'Last heard'), h('dd', null, h(Time, { at: cell.last_heard_at }))),
      h('div', null, h('dt', null, 'Servers'), h('dd', null, link(`#/servers${query({ cell: cell.name })}`, summary?.servers ?? 'unknown'))),
      h('div', null, h('dt', null, 'Release'), h('dd', null, summary?.release ?? 'unknown')),
    ),
    cell.loss !== null && h('p', { class: 'problem' }, 'This cell was declared lost.'),
    limits !== undefined && limits !== null && summary.used !== null && [
      h(Bar, { label: 'vCPUs', used: summary.used.vcpus, total: limits.vcpus }),
      h(Bar, { label: 'Memory', used: gib(summary.used.memory_mb), total: gib(limits.memory_mb), unit: ' GiB' }),
      h(Bar, { label: 'Disk', used: summary.used.disk_gb, total: limits.disk_gb, unit: ' GiB' }),
    ],
    h(Switch, { cell, reload }),
    h(Hosts, { hosts, next }),
  ]
}

function Switch({ cell, reload }) {
  const set = async (body) => {
    await ask(`federation/v1/cells/${cell.id}`, { method: 'PATCH', body })
    reload()
  }
  const act = cell.is_enabled
    ? { label: 'Disable', command: `./weir cell disable ${cell.name}`, act: () => set({ is_enabled: false }) }
    : { label: 'Enable', command: `./weir cell enable ${cell.name}`, act: () => set({ is_enabled: true }) }
  return [
    h(Acts, { acts: [act] }),
    !cell.is_reachable && cell.loss === null && h('p', null, link(path('cells', cell.name, 'lost'), 'Declare it lost')),
    cell.loss !== null && h('p', null, link(path('cells', cell.name, 'recover'), 'Build its servers again in other cells')),
  ]
}

function Hosts({ hosts, next }) {
  return h(
    'section',
    { 'aria-label': 'Hosts' },
    h('h2', null, `Hosts${next === null ? '' : `: the first ${HOSTS_MAX}`}`),
    h('div', { class: 'squares' }, hosts.map((host) => h(Square, { key: host.id, host }))),
    h(Table, {
      caption: 'Hosts, as a table',
      none: 'It has no host yet.',
      rows: hosts,
      columns: [
        ['Host', ({ id, name }) => link(path('hosts', id), name)],
        ['State', (host) => [h(State, null, stateOf(host)), host.down_reason && ` ${host.down_reason}`]],
        ['Driver', ({ driver }) => driver],
        ['Zone', ({ zone }) => zone],
        ['Servers', ({ servers }) => servers],
        ['vCPUs', (host) => `${host.used.vcpus} of ${limitOf(host, 'vcpus') ?? 'unknown'}`],
        ['Memory', (host) => `${gib(host.used.memory_mb)} of ${host.total === null ? 'unknown' : gib(limitOf(host, 'memory_mb'))} GiB`],
      ],
    }),
  )
}

/** What a host may promise, with overcommit; undefined where it has never reported. */
const limitOf = ({ total, ratios }, of) => (total === null ? undefined : Math.floor(total[of] * ratios[of]))

export function stateOf(host) {
  if (!host.is_up) return 'down'
  return host.is_cordoned ? 'cordoned' : 'up'
}

/** One host: filled by its memory in use. A cloud that is a host has a second border. */
function Square({ host }) {
  const { id, name, total, used, ratios, servers, driver } = host
  const limit = total === null ? 0 : total.memory_mb * ratios.memory_mb
  const share = limit === 0 ? 0 : Math.min(1, used.memory_mb / limit)
  const label = `${name}: ${stateOf(host)}, ${counted(servers, 'server')}, ${Math.round(share * 100)} % of memory used`
  return h('a', {
    class: `square ${stateOf(host)}${driver === 'nested' ? ' cloud' : ''}`,
    href: path('hosts', id),
    title: label,
    'aria-label': label,
    style: { '--used': share },
  })
}
