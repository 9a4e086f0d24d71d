import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask, query } from './api.js'
import { Decisions } from './decisions.js'
import { Acts, Command, Facts, Heading, Loaded, link, Pages, Problem, path, State, serverLink, Table, Time, useData, word } from './parts.js'

const PAGE = 100
const EVERY_MS = 5_000
const VOLUMES = 'volume/v3/volumes'
/** In which Cinder deletes a volume. */
const DELETABLE = ['available', 'error', 'error_deleting']

/** Volumes, a page at a time: of all projects for operators, of the project otherwise. */
export function Volumes({ session }) {
  const [cursors, setCursors] = useState([])
  const marker = cursors.at(-1)
  const all = session.is_admin ? 'true' : undefined
  const load = async (signal) => (await ask(`${VOLUMES}/detail${query({ limit: PAGE, marker, all_tenants: all })}`, { signal })).volumes
  const data = useData(load, [marker], EVERY_MS)
  return [
    h(Heading, null, 'Volumes'),
    !session.is_admin && h(NewVolume, { reload: data.reload }),
    h(Loaded, {
      data,
      show: (rows) => [
        h(Table, {
          caption: 'Volumes',
          none: 'There is no volume.',
          rows,
          columns: [
            ['Volume', ({ id, name }) => link(path('volumes', id), name || id)],
            ['Status', ({ status }) => h(State, null, status)],
            ['Size', ({ size }) => `${size} GiB`],
            ['Type', ({ volume_type: type }) => type],
            ['Zone', ({ availability_zone: zone }) => zone],
            ['Attached to', ({ attachments }) => attachments.map(({ server_id: id }) => h('div', { key: id }, serverLink(id, id)))],
            ['Created', ({ created_at: at }) => h(Time, { at: `${at}Z` })],
          ],
        }),
        h(Pages, { cursors, setCursors, next: rows.length < PAGE ? null : rows.at(-1).id }),
      ],
    }),
  ]
}

function NewVolume({ reload }) {
  const [{ name, size }, set] = useState({ name: '', size: '1' })
  const [error, setError] = useState()
  const change = ({ target }) => set({ name, size, [target.name]: target.value })
  const create = async (event) => {
    event.preventDefault()
    try {
      await ask(VOLUMES, { method: 'POST', body: { volume: { name, size: Number(size) } } })
      setError(undefined)
      set({ name: '', size })
      reload()
    } catch (refusal) {
      setError(refusal)
    }
  }
  return h(
    'form',
    { class: 'filters', 'aria-label': 'New volume', onSubmit: create },
    h('label', null, 'Name ', h('input', { name: 'name', value: name, onInput: change, maxLength: 255 })),
    h('label', null, 'GiB ', h('input', { name: 'size', type: 'number', min: 1, required: true, value: size, onInput: change })),
    h('button', null, 'Create'),
    h(Command, null, `openstack volume create --size ${size || 1} ${word(name || 'NAME')}`),
    h(Problem, { error }),
  )
}

/** A volume: what it is, what uses it, why it is where it is, and what its user does to it. */
export function Volume({ id, session }) {
  const at = `${VOLUMES}/${encodeURIComponent(id)}`
  const data = useData((signal) => ask(at, { signal }), [id], EVERY_MS)
  return [
    h(Heading, null, `Volume ${data.value?.volume.name || id}`),
    h(Loaded, { data, show: ({ volume }) => [h(Facts, { facts: factsOf(volume) }), h(VolumeActs, { at, volume, reload: data.reload })] }),
    session.is_admin && h(Place, { id }),
  ]
}

function factsOf(volume) {
  const { id, status, size, bootable, volume_type: type, availability_zone: zone, attachments, metadata, created_at: at } = volume
  return [
    ['Status', h(State, null, status)],
    ['Id', h('code', null, id)],
    ['Size', `${size} GiB`],
    ['Type', type],
    ['Zone', zone],
    ['Starts servers', bootable === 'true' ? 'yes' : 'no'],
    ['Attached to', attachments.map(({ server_id: server, device }) => h('div', { key: server }, serverLink(server, server), device && ` as ${device}`))],
    ['Created', h(Time, { at: `${at}Z` })],
    ['Metadata', Object.entries(metadata).map(([key, value]) => h('div', { key }, `${key} = ${value}`))],
  ]
}

function VolumeActs({ at, volume, reload }) {
  const { id, name, status, attachments } = volume
  const detach = attachments.map(({ server_id: server }) => ({
    label: `Detach from ${server}`,
    command: `openstack server remove volume ${server} ${id}`,
    act: async () => {
      await ask(`compute/v2.1/servers/${server}/os-volume_attachments/${id}`, { method: 'DELETE' })
      reload()
    },
  }))
  const remove = {
    label: 'Delete',
    isDangerous: true,
    command: `openstack volume delete ${id}`,
    ask: `Delete ${name || id}? What is on it is lost.`,
    act: async () => {
      await ask(at, { method: 'DELETE' })
      location.hash = path('volumes')
    },
  }
  return h(Acts, { acts: [...detach, ...(DELETABLE.includes(status) ? [remove] : [])] })
}

/** For operators: the cell and the store, and how they were chosen. */
function Place({ id }) {
  const data = useData((signal) => ask(`federation/v1/volumes/${encodeURIComponent(id)}/trace`, { signal }), [id])
  return h(
    'section',
    { 'aria-label': 'Place' },
    h('h2', null, 'Place'),
    h(Loaded, {
      data,
      show: ({ cell, store, fault, decisions }) => [
        fault !== null && h('p', { class: 'problem' }, fault),
        h('p', null, 'In cell ', cell === null ? 'none' : link(path('cells', cell), cell), `, in store ${store ?? 'none'}. The same from the command line: `, h(Command, null, `./weir why --volume ${word(id)}`)),
        h(Decisions, { decisions }),
      ],
    }),
  )
}
