import { h } from 'preact'
import { ask } from './api.js'
import { counted, gib, State, Table, useData } from './parts.js'

/** Each time the host asks its cloud. */
const EVERY_MS = 30_000
/** So many cells are drawn in the tile of their cloud. */
const DRAWN_MAX = 24

const HIDDEN = {
  'not-allowed': 'Its cells are not shown: it does not let the account that this host has there list them.',
  'no-weir': 'It is not a Weir, so it has no cells to show.',
}

function useCells(host) {
  return useData((signal) => ask(`federation/v1/hosts/${encodeURIComponent(host.id)}/cells`, { signal }), [host.id], EVERY_MS)
}

/** What a cloud shows of its own cells, within its tile. */
export function CellsBelow({ host }) {
  const { value, error } = useCells(host)
  if (value === undefined) return error === undefined ? null : h('small', null, `Its cells are not known: ${error.message}`)
  if (value.hidden !== null) return h('small', null, HIDDEN[value.hidden])
  const more = value.count - Math.min(value.cells.length, DRAWN_MAX)
  return [
    h('div', { class: 'tiles', role: 'group', 'aria-label': `Cells of ${host.name}` }, value.cells.slice(0, DRAWN_MAX).map((cell) => h(Small, { key: cell.name, cell }))),
    more > 0 && h('small', null, `and ${counted(more, 'cell')} more`),
  ]
}

const said = ({ servers, memory_mb: memory, memory_mb_used: used }) =>
  servers === null ? 'nothing reported yet' : `${counted(servers, 'server')}${memory === null ? '' : `, ${gib(used ?? 0)} of ${gib(memory)} GiB`}`

function Small({ cell }) {
  const { name, state, memory_mb: memory, memory_mb_used: used } = cell
  return h(
    'div',
    { class: `tile small ${state}`, style: { '--used': memory ? Math.min(1, (used ?? 0) / memory) : 0 } },
    h('strong', null, name),
    h('span', null, state),
    h('small', null, said(cell)),
  )
}

/** The same as a table, on the page of the host. */
export function CellsOfCloud({ host }) {
  const { value, error } = useCells(host)
  return h(
    'section',
    { 'aria-label': 'Cells of this cloud' },
    h('h2', null, 'Cells of this cloud'),
    error !== undefined && h('p', null, `They are not known: ${error.message}`),
    value !== undefined && value.hidden !== null && h('p', null, HIDDEN[value.hidden]),
    value !== undefined &&
      value.hidden === null &&
      h(Table, {
        caption: value.count > value.cells.length ? `The first ${value.cells.length} of ${value.count} cells` : 'Cells',
        none: 'It has no cell yet.',
        rows: value.cells,
        columns: [
          ['Cell', ({ name }) => name],
          ['State', ({ state }) => h(State, null, state)],
          ['Servers', ({ servers }) => servers ?? 'unknown'],
          ['Hosts up', ({ hosts, hosts_up: up }) => (hosts === null ? 'unknown' : `${up} of ${hosts}`)],
          ['Memory', ({ memory_mb: memory, memory_mb_used: used }) => (memory === null ? 'unknown' : `${gib(used ?? 0)} of ${gib(memory)} GiB`)],
        ],
      }),
  )
}
