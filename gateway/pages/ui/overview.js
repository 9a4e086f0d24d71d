import { h } from 'preact'
import { ask } from './api.js'
import { stateOf } from './cell.js'
import { gib, Heading, Loaded, link, path, State, useData } from './parts.js'

const EVERY_MS = 5_000
const COUNTED_MAX = 100
/** So many nested clouds are drawn in their cells. */
const CLOUDS_MAX = 1_000
/** A tile has at least this share of the largest one's side. */
const SIDE_MIN = 0.35

/** A strip of facts, the problems, and every cell as a tile. */
export function Overview() {
  const data = useData(async (signal) => {
    const get = (path) => ask(path, { signal })
    const counted = (status) => get(`federation/v1/servers?status=${status}&limit=${COUNTED_MAX}`)
    const [{ cells }, { hosts: clouds }, health, failed, building, running] = await Promise.all([
      get('federation/v1/cells'),
      get(`federation/v1/hosts?capability=below&limit=${CLOUDS_MAX}`),
      get('federation/v1/health'),
      counted('ERROR'),
      counted('BUILD'),
      get('federation/v1/operations?state=running&limit=100'),
    ])
    return { cells, clouds, health, failed, building, running }
  }, [], EVERY_MS)
  return [h(Heading, null, 'Federation'), h(Loaded, { data, show: (value) => [h(Facts, value), h(Troubles, value), h(Tiles, value)] })]
}

const many = ({ servers, next }) => (next === null ? `${servers.length}` : `${COUNTED_MAX}+`)

function Facts({ cells, health, failed, building, running }) {
  const sum = (of) => cells.reduce((total, { summary }) => total + (summary === null ? 0 : of(summary)), 0)
  const wordOf = (kind) => {
    const found = health.checks.filter((check) => check.kind === kind).map(({ status }) => status)
    return ['failed', 'degraded'].find((word) => found.includes(word)) ?? 'ok'
  }
  const facts = [
    ['Cells reachable', `${cells.filter((cell) => cell.is_reachable).length} of ${cells.length}`],
    ['Hosts up', `${sum(({ hosts_up }) => hosts_up)} of ${sum(({ hosts }) => hosts)}`],
    ['Servers', link(path('servers'), sum(({ servers }) => servers))],
    ['Building', link('#/servers?status=BUILD', many(building))],
    ['In error', link('#/servers?status=ERROR', many(failed))],
    ['Operations', link(path('operations'), `${running.operations.length}`)],
    ['Bus', h(State, null, wordOf('bus'))],
    ['Database', h(State, null, wordOf('database'))],
  ]
  return h('dl', { class: 'facts' }, facts.map(([name, value]) => h('div', { key: name }, h('dt', null, name), h('dd', null, value))))
}

function Troubles({ health }) {
  const bad = health.checks.filter(({ status }) => status !== 'ok')
  if (bad.length === 0) return null
  return h(
    'section',
    { 'aria-label': 'Problems' },
    h('h2', null, 'Problems'),
    h('ul', null, bad.map(({ kind, name, status, reason }) => h('li', { key: kind + name }, h(State, null, status), ` ${kind} ${name}: ${reason}`))),
  )
}

const memoryOf = ({ summary }) => summary?.limits?.memory_mb ?? summary?.total?.memory_mb ?? 0

function Tiles({ cells, clouds }) {
  const byCell = Map.groupBy(clouds, ({ cell_id: cell }) => cell)
  const largest = Math.max(1, ...cells.map(memoryOf))
  return h(
    'section',
    { 'aria-label': 'Cells' },
    h('h2', null, 'Cells'),
    cells.length === 0 && h('p', null, 'No cell has joined yet. ', h('code', null, './weir cell join'), ' lets one join.'),
    h('div', { class: 'tiles' }, cells.map((cell) => h(Tile, { key: cell.id, cell, largest, clouds: byCell.get(cell.id) ?? [] }))),
  )
}

const sideOf = (memory, largest) => SIDE_MIN + (1 - SIDE_MIN) * Math.sqrt(memory / Math.max(1, largest))

/** Sized by its memory, filled by the share in use, coloured by its state; the clouds nested in it are tiles within. */
function Tile({ cell, largest, clouds }) {
  const { name, summary, is_reachable: isReachable, is_enabled: isEnabled, loss } = cell
  const memory = memoryOf(cell)
  const used = memory === 0 ? 0 : Math.min(1, (summary?.used?.memory_mb ?? 0) / memory)
  const state = loss !== null ? 'lost' : isReachable ? (isEnabled ? 'up' : 'disabled') : 'unreachable'
  const said = summary === null ? 'nothing reported yet' : `${summary.servers} servers on ${summary.hosts_up} of ${summary.hosts} hosts, ${gib(summary.used?.memory_mb ?? 0)} of ${gib(memory)} GiB`
  return h(
    'div',
    { class: `tile ${state}`, style: { '--side': sideOf(memory, largest), '--used': used } },
    h('a', { href: path('cells', name) }, h('strong', null, name)),
    h('span', null, state),
    h('small', null, said),
    clouds.length > 0 && h('div', { class: 'tiles', role: 'group', 'aria-label': `Clouds nested in ${name}` }, clouds.map((host) => h(Cloud, { key: host.id, host, largest: memory }))),
  )
}

/** A nested cloud, which is a host of its cell. */
function Cloud({ host, largest }) {
  const { id, name, total, used, ratios, servers } = host
  const memory = total === null ? 0 : total.memory_mb * ratios.memory_mb
  return h(
    'div',
    { class: `tile cloud ${stateOf(host)}`, style: { '--side': sideOf(Math.min(memory, largest), largest), '--used': memory === 0 ? 0 : Math.min(1, used.memory_mb / memory) } },
    h('a', { href: path('hosts', id) }, h('strong', null, name)),
    h('span', null, stateOf(host)),
    h('small', null, `a cloud with ${servers} servers, ${gib(used.memory_mb)} of ${gib(memory)} GiB`),
  )
}
