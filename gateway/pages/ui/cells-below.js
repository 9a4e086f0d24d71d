import { h } from 'preact'
import { ask, query } from './api.js'
import { counted, gib, Heading, Loaded, link, path, State, Table, useData } from './parts.js'

/** Each time the hosts between ask their clouds. */
const EVERY_MS = 30_000
/** So many cells are drawn in the tile of their cloud. */
const DRAWN_MAX = 24
/** A cell is asked for through at most so many clouds. */
const LEVELS_MAX = 8

const HIDDEN = {
  'not-allowed': 'Its cells are not shown: it does not let the account that the host has there list them.',
  'no-weir': 'It is not a Weir, so it has no cells to show.',
}

/** `through`: ids of clouds below the host's, the outermost first. */
const cellsOf = (host, through, signal) =>
  ask(`federation/v1/hosts/${encodeURIComponent(host)}/cells${query({ through: through.join(',') })}`, { signal })

const useCells = (host, through) => useData((signal) => cellsOf(host, through, signal), [host, through.join()], EVERY_MS)

const pathOf = (host, through) => `${path('hosts', host, 'cells')}${query({ through: through.join(',') })}`

/** Of so many clouds, how many requests each may take of these, itself included. */
export const shareOf = (places, many, nth) => Math.floor(places / many) + (nth < places % many ? 1 : 0)

const said = ({ servers, memory_mb: memory, memory_mb_used: used }) =>
  servers === null ? 'nothing reported yet' : `${counted(servers, 'server')}${memory === null ? '' : `, ${gib(used ?? 0)} of ${gib(memory)} GiB`}`

const usedOf = ({ memory_mb: memory, memory_mb_used: used }) => (memory ? Math.min(1, (used ?? 0) / memory) : 0)

/**
 * What a cloud shows of its own cells, within its tile, and in these their clouds with their cells. `places`: so many requests
 * may be made for it and what is below it.
 */
export function CellsBelow({ host, name, through = [], places }) {
  const { value, error } = useCells(host, through)
  if (value === undefined) return error === undefined ? null : h('small', null, `Its cells are not known: ${error.message}`)
  if (value.hidden !== null) return h('small', null, HIDDEN[value.hidden])
  const cells = value.cells.slice(0, DRAWN_MAX)
  const opened = through.length < LEVELS_MAX ? cells.flatMap(({ clouds }) => clouds.filter(({ state }) => state !== 'down')) : []
  const placesOf = (cloud) => (opened.includes(cloud) ? shareOf(places - 1, opened.length, opened.indexOf(cloud)) : 0)
  const more = value.count - cells.length
  return [
    h('div', { class: 'tiles', role: 'group', 'aria-label': `Cells of ${name}` }, cells.map((cell) => h(Small, { key: cell.name, cell, host, through, placesOf }))),
    more > 0 && h('small', null, `and ${counted(more, 'cell')} more`),
  ]
}

function Small({ cell, host, through, placesOf }) {
  const { name, state, clouds } = cell
  return h(
    'div',
    { class: `tile small ${state}`, style: { '--used': usedOf(cell) } },
    h('strong', null, name),
    h('span', null, state),
    h('small', null, said(cell)),
    clouds.length > 0 &&
      h('div', { class: 'tiles', role: 'group', 'aria-label': `Clouds nested in ${name}` }, clouds.map((cloud) => h(Cloud, { key: cloud.id, cloud, host, through: [...through, cloud.id], places: placesOf(cloud) }))),
  )
}

/** A cloud in a cell of a cloud. */
function Cloud({ cloud, host, through, places }) {
  const { name, state } = cloud
  return h(
    'div',
    { class: `tile cloud small ${state}`, style: { '--used': usedOf(cloud) } },
    h('a', { href: pathOf(host, through) }, h('strong', null, name)),
    h('span', null, state),
    h('small', null, `a cloud with ${said(cloud)}`),
    places > 0 && h(CellsBelow, { host, name, through, places }),
  )
}

/** The same as a table. */
export function CellsOfCloud({ host, through = [] }) {
  const { value, error } = useCells(host, through)
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
          ['Clouds in it', ({ clouds }) => clouds.map(({ id, name }, nth) => [nth > 0 && ', ', through.length < LEVELS_MAX ? link(pathOf(host, [...through, id]), name) : name])],
        ],
      }),
  )
}

/** A cloud below a host's cloud: what the cloud above says of it, and its cells. */
export function CloudBelow({ id: host, search }) {
  const through = search.through?.split(',') ?? []
  const above = through.slice(0, -1)
  const data = useData(async (signal) => {
    const { cells } = await cellsOf(host, above, signal)
    const cell = cells.find(({ clouds }) => clouds.some((each) => each.id === through.at(-1)))
    if (cell === undefined) throw new Error('The cloud above does not show this one.')
    return { cell, cloud: cell.clouds.find((each) => each.id === through.at(-1)) }
  }, [host, through.join()], EVERY_MS)
  return [
    h(Heading, null, `Cloud ${data.value?.cloud.name ?? through.at(-1)}`),
    h(Loaded, {
      data,
      show: ({ cell, cloud }) =>
        h(
          'dl',
          { class: 'facts' },
          h('div', null, h('dt', null, 'Cell'), h('dd', null, `${cell.name}, of the `, link(above.length === 0 ? path('hosts', host) : pathOf(host, above), 'cloud above'))),
          h('div', null, h('dt', null, 'State'), h('dd', null, h(State, null, cloud.state))),
          h('div', null, h('dt', null, 'Servers'), h('dd', null, cloud.servers)),
          h('div', null, h('dt', null, 'Memory'), h('dd', null, cloud.memory_mb === null ? 'unknown' : `${gib(cloud.memory_mb_used)} of ${gib(cloud.memory_mb)} GiB`)),
        ),
    }),
    h(CellsOfCloud, { host, through }),
  ]
}
