import { h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, follow, query } from './api.js'
import { Heading, Problem, path, State, serverLink, Time } from './parts.js'

const KEPT = 200
const SHOW_EVERY_MS = 250
const TYPES = ['server', 'volume', 'snapshot']
const TYPES_OF_OPERATORS = ['host', 'cell', 'operation']
/** What else events are chosen by: [name in the address, label]. */
const FILTERS = [['server', 'Server (id)'], ['request', 'Request (id)']]
const FILTERS_OF_OPERATORS = [['cell', 'Cell'], ['host', 'Host']]

/** Events as they happen, the newest first: of everything for operators, of the project's servers otherwise. */
export function Events({ search, session }) {
  const [events, setEvents] = useState([])
  const [isPaused, setPaused] = useState(false)
  const [error, setError] = useState()
  const held = useRef(false)
  held.current = isPaused
  const types = session.is_admin ? [...TYPES, ...TYPES_OF_OPERATORS] : TYPES
  const filters = session.is_admin ? [...FILTERS, ...FILTERS_OF_OPERATORS] : FILTERS
  const { type, request, server, cell, host } = search
  const asked = { type, request, server, cell, host }
  useEffect(() => {
    const aborter = new AbortController()
    let coming = []
    // Many events at once are drawn once.
    const timer = setInterval(() => {
      if (coming.length === 0 || held.current) return
      const fresh = coming.toReversed()
      coming = []
      setEvents((before) => [...fresh, ...before].slice(0, KEPT))
    }, SHOW_EVERY_MS)
    const tell = (event) => {
      coming.push(event)
      if (coming.length > KEPT) coming.shift()
    }
    const run = async () => {
      const page = await ask(`federation/v1/events${query(asked)}`, { signal: aborter.signal })
      setEvents(page.events.toReversed().slice(0, KEPT))
      await follow(`federation/v1/events${query({ ...asked, after: page.next })}`, tell, aborter.signal)
    }
    setError(undefined)
    run().catch((refusal) => !aborter.signal.aborted && setError(refusal))
    return () => {
      aborter.abort()
      clearInterval(timer)
    }
  }, Object.values(asked))
  const choose = ({ target }) => {
    location.hash = `${path('events')}${query({ ...search, [target.name]: target.value.trim() })}`
  }
  return [
    h(Heading, null, 'Events'),
    h(
      'form',
      { class: 'filters', onSubmit: (event) => event.preventDefault() },
      h('label', null, 'Of ', h('select', { name: 'type', value: type ?? '', onChange: choose }, h('option', { value: '' }, 'everything'), types.map((each) => h('option', { key: each, value: each, selected: each === type }, `${each}s`)))),
      filters.map(([name, label]) => h('label', { key: name }, `${label} `, h('input', { name, value: search[name] ?? '', onChange: choose }))),
      h('button', { type: 'button', 'aria-pressed': isPaused, onClick: () => setPaused(!isPaused) }, isPaused ? 'Go on' : 'Pause'),
    ),
    h(Problem, { error }),
    events.length === 0 && h('p', { role: 'status' }, 'Nothing has happened yet.'),
    h('ol', { class: 'events' }, events.map((event) => h(Event, { key: event.id, event }))),
  ]
}

function Event({ event }) {
  const { type, at, server_id: server, server_name: name, cell, host, action, result, state, message } = event
  const subject = server === null ? [cell, host].filter(Boolean).join(' / ') : serverLink(server, name ?? server)
  return h(
    'li',
    null,
    h(Time, { at }),
    h('span', null, type),
    h('span', null, subject),
    h('span', null, action, ' ', (result ?? state) && h(State, null, result ?? state)),
    h('span', null, message),
  )
}
