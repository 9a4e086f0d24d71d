import { h } from 'preact'
import { useEffect, useRef, useState } from 'preact/hooks'
import { ask, follow, query } from './api.js'
import { Heading, Problem, path, State, serverLink, Time } from './parts.js'

const KEPT = 200
const SHOW_EVERY_MS = 250
const TYPES = ['server', 'host', 'cell', 'operation']

/** Events as they happen, the newest first: of everything for operators, of the project's servers otherwise. */
export function Events({ search }) {
  const [events, setEvents] = useState([])
  const [isPaused, setPaused] = useState(false)
  const [error, setError] = useState()
  const held = useRef(false)
  held.current = isPaused
  const { type, request, server } = search
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
      const page = await ask(`federation/v1/events${query({ type, request, server })}`, { signal: aborter.signal })
      setEvents(page.events.toReversed().slice(0, KEPT))
      await follow(`federation/v1/events${query({ type, request, server, after: page.next })}`, tell, aborter.signal)
    }
    setError(undefined)
    run().catch((refusal) => !aborter.signal.aborted && setError(refusal))
    return () => {
      aborter.abort()
      clearInterval(timer)
    }
  }, [type, request, server])
  const choose = ({ target }) => {
    location.hash = `${path('events')}${query({ ...search, type: target.value })}`
  }
  return [
    h(Heading, null, 'Events'),
    h(
      'form',
      { class: 'filters', onSubmit: (event) => event.preventDefault() },
      h('label', null, 'Of ', h('select', { value: type ?? '', onChange: choose }, h('option', { value: '' }, 'everything'), TYPES.map((each) => h('option', { key: each, value: each, selected: each === type }, `${each}s`)))),
      request !== undefined && h('span', null, 'of request ', h('code', null, request)),
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
