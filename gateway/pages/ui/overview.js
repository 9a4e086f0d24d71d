import { h } from 'preact'
import { ask } from './api.js'
import { stateOf } from './cell.js'
import { CellsBelow, shareOf } from './cells-below.js'
import { counted, Facts, gib, Heading, Loaded, link, NUMBER, Problem, path, State, useData } from './parts.js'

const EVERY_MS = 5_000
/** Counting reads every server. */
const COUNTED_EVERY_MS = 15_000
/** Of operations and intents, so many are counted. */
const LISTED_MAX = 100
/** So many nested clouds are drawn in their cells. */
const CLOUDS_MAX = 1_000
/** Of so many clouds, at any depth, the cells are asked for and drawn. */
const OPENED_MAX = 40
/** A tile has at least this share of the largest one's side. */
const SIDE_MIN = 0.35

/** A strip of facts, the problems, and every cell as a tile. What takes longer to find out comes when it is known. */
export function Overview() {
  const drawn = useData(async (signal) => {
    const [{ cells }, { hosts: clouds }] = await Promise.all([
      ask('federation/v1/cells', { signal }),
      ask(`federation/v1/hosts?capability=below&limit=${CLOUDS_MAX}`, { signal }),
    ])
    return { cells, clouds }
  }, [], EVERY_MS)
  const about = useData(async (signal) => {
    const [health, { server_counts: counts, failed_boots: failedBoots }, { operations }, { intents }] = await Promise.all([
      ask('federation/v1/health', { signal }),
      ask('federation/v1/server-counts', { signal }),
      ask(`federation/v1/operations?state=running&limit=${LISTED_MAX}`, { signal }),
      ask(`federation/v1/intents?limit=${LISTED_MAX}`, { signal }),
    ])
    return { health, operations, intents, counts, failedBoots }
  }, [], COUNTED_EVERY_MS)
  return [
    h(Heading, null, 'Federation'),
    h(Problem, { error: about.error }),
    h(Loaded, { data: drawn, show: ({ cells, clouds }) => [h(FactStrip, { cells, about: about.value }), about.value !== undefined && h(Troubles, about.value), h(Tiles, { cells, clouds })] }),
  ]
}

function FactStrip({ cells, about }) {
  const sum = (of) => cells.reduce((total, { summary }) => total + (summary === null ? 0 : of(summary)), 0)
  const known = (show) => (about === undefined ? '…' : show(about))
  const facts = [
    ['Cells reachable', `${cells.filter((cell) => cell.is_reachable).length} of ${cells.length}`],
    ['Hosts up', `${NUMBER.format(sum(({ hosts_up: up }) => up))} of ${NUMBER.format(sum(({ hosts }) => hosts))}`],
    ['Servers', [link(path('servers'), NUMBER.format(about === undefined ? sum(({ servers }) => servers) : allOf(about))), about !== undefined && h(Statuses, about)]],
    ['Failed boots in an hour', known(({ failedBoots }) => link('#/servers?status=ERROR', NUMBER.format(failedBoots)))],
    ['Operations', known(({ operations }) => link(path('operations'), atMost(operations.length)))],
    ['Intents', known(({ intents }) => link(path('intents'), atMost(intents.length)))],
    ['Bus', known(({ health }) => h(State, null, wordOf(health, 'bus')))],
    ['Database', known(({ health }) => h(State, null, wordOf(health, 'database')))],
  ]
  return h(Facts, { facts })
}

/** Those in no cell too. */
const allOf = ({ counts }) => counts.reduce((total, { count }) => total + count, 0)

const atMost = (count) => (count < LISTED_MAX ? `${count}` : `${count} or more`)

function wordOf({ checks }, kind) {
  const found = checks.filter((check) => check.kind === kind).map(({ status }) => status)
  return ['failed', 'degraded'].find((word) => found.includes(word)) ?? 'ok'
}

/** How many servers have each status. */
function Statuses({ counts }) {
  return counts.map(({ status, count }) => h('div', { key: status }, link(`#/servers?status=${status}`, `${NUMBER.format(count)} ${status}`)))
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
  const up = clouds.filter((host) => host.is_up)
  const placesOf = (host) => (host.is_up ? shareOf(OPENED_MAX, up.length, up.indexOf(host)) : 0)
  return h(
    'section',
    { 'aria-label': 'Cells' },
    h('h2', null, 'Cells'),
    cells.length === 0 && h('p', null, 'No cell has joined yet. ', h('code', null, './weir cell join'), ' lets one join.'),
    h('div', { class: 'tiles' }, cells.map((cell) => h(Tile, { key: cell.id, cell, largest, placesOf, clouds: byCell.get(cell.id) ?? [] }))),
  )
}

const sideOf = (memory, largest) => SIDE_MIN + (1 - SIDE_MIN) * Math.sqrt(memory / Math.max(1, largest))

/** Sized by its memory, filled by the share in use, coloured by its state; the clouds nested in it are tiles within. */
function Tile({ cell, largest, clouds, placesOf }) {
  const { name, summary, is_reachable: isReachable, is_enabled: isEnabled, loss } = cell
  const memory = memoryOf(cell)
  const used = memory === 0 ? 0 : Math.min(1, (summary?.used?.memory_mb ?? 0) / memory)
  const state = loss !== null ? 'lost' : isReachable ? (isEnabled ? 'up' : 'disabled') : 'unreachable'
  const said = summary === null ? 'nothing reported yet' : `${counted(summary.servers, 'server')} on ${summary.hosts_up} of ${summary.hosts} hosts, ${gib(summary.used?.memory_mb ?? 0)} of ${gib(memory)} GiB`
  return h(
    'div',
    { class: `tile ${state}`, style: { '--side': sideOf(memory, largest), '--used': used } },
    h('a', { href: path('cells', name) }, h('strong', null, name)),
    h('span', null, state),
    h('small', null, said),
    clouds.length > 0 && h('div', { class: 'tiles', role: 'group', 'aria-label': `Clouds nested in ${name}` }, clouds.map((host) => h(Cloud, { key: host.id, host, largest: memory, places: placesOf(host) }))),
  )
}

/** A nested cloud, which is a host of its cell, with its own cells where there are places for it. */
function Cloud({ host, largest, places }) {
  const { id, name, total, used, ratios, servers } = host
  const memory = total === null ? 0 : total.memory_mb * ratios.memory_mb
  return h(
    'div',
    { class: `tile cloud ${stateOf(host)}`, style: { '--side': sideOf(Math.min(memory, largest), largest), '--used': memory === 0 ? 0 : Math.min(1, used.memory_mb / memory) } },
    h('a', { href: path('hosts', id) }, h('strong', null, name)),
    h('span', null, stateOf(host)),
    h('small', null, `a cloud with ${counted(servers, 'server')}, ${gib(used.memory_mb)} of ${gib(memory)} GiB`),
    places > 0 && h(CellsBelow, { host: id, name, places }),
  )
}
