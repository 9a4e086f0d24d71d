import { h } from 'preact'
import { useEffect, useState } from 'preact/hooks'
import { ask } from './api.js'
import { Decisions } from './decisions.js'
import { Problem } from './parts.js'

const PAUSE_MS = 300

/** A dry run of the scheduler for what is asked now, a body of `POST /placements`. */
export function Preview({ body }) {
  const [state, setState] = useState({})
  const asked = JSON.stringify(body)
  useEffect(() => {
    const aborter = new AbortController()
    const timer = setTimeout(async () => {
      try {
        setState({ value: await ask('federation/v1/placements', { method: 'POST', body, signal: aborter.signal }) })
      } catch (error) {
        if (!aborter.signal.aborted) setState({ error })
      }
    }, PAUSE_MS)
    return () => {
      clearTimeout(timer)
      aborter.abort()
    }
  }, [asked])
  const { value, error } = state
  return h(
    'section',
    { 'aria-label': 'Where it would go', 'aria-live': 'polite' },
    h('h2', null, 'Where it would go'),
    h(Problem, { error }),
    value !== undefined && [
      h('p', null, value.host === null ? 'No host would take it.' : `To host ${value.host} of cell ${value.cell}.`),
      h(Decisions, { decisions: value.decisions }),
    ],
  )
}
