// Why a server or a volume is where it is: as filters that let fewer and fewer candidates through, and as a waterfall of steps.
import { h } from 'preact'
import { State } from './parts.js'

const SCORE = new Intl.NumberFormat('en', { maximumSignificantDigits: 4 })

/** Scheduling decisions in order. */
export function Decisions({ decisions }) {
  if (decisions.length === 0) return h('p', null, 'No decision is on record.')
  return decisions.map((decision, nth) => h(Decision, { key: nth, decision }))
}

function Decision({ decision }) {
  const { level, cell, policy, considered, filters, scores, lost_claims: lost, chosen, emptied_by: emptiedBy, took_ms: took } = decision
  const what = level === 'cells' ? 'Choice of a cell' : `Choice of a ${level === 'hosts' ? 'host' : 'store'} in ${cell ?? 'its cell'}`
  let left = considered
  const steps = filters.filter(({ refused }) => refused > 0).map((filter) => ({ ...filter, left: (left -= filter.refused) }))
  return h(
    'section',
    { class: 'decision', 'aria-label': what },
    h('h3', null, `${what}: `, chosen === null ? h(State, null, 'failed') : chosen),
    h('p', null, `${considered} considered, decided in ${took} ms.`, emptiedBy !== null && ` ${emptiedBy} refused the last one.`),
    policy !== null && h('p', null, `Placement policy ${policy.name} applied (${policy.bound_by}).`),
    steps.length > 0 &&
      h(
        'ol',
        { class: 'funnel' },
        steps.map(({ name, refused, examples, left: remaining }) =>
          h(
            'li',
            { key: name, style: { '--left': considered === 0 ? 0 : remaining / considered } },
            h('details', null, h('summary', null, `${name} refused ${refused}, ${remaining} left`), h('ul', null, examples.map(({ candidate, reason }) => h('li', { key: candidate }, `${candidate}: ${reason}`)))),
          ),
        ),
      ),
    scores.length > 0 && h('p', null, 'Best scores: ', scores.slice(0, 5).map(({ candidate, score }) => `${candidate} ${SCORE.format(score)}`).join(', ')),
    lost.length > 0 && h('p', null, `Filled up meanwhile: ${lost.join(', ')}`),
  )
}

/** Steps from the request to the running server; the last one covers the whole. */
export function Waterfall({ phases }) {
  const ended = phases.filter(({ took_ms: took }) => took !== null)
  const from = Math.min(...phases.map(({ started_at: at }) => Date.parse(at)))
  const whole = Math.max(...ended.map(({ started_at: at, took_ms: took }) => Date.parse(at) + took)) - from
  if (!(whole > 0)) return null
  return h(
    'ol',
    { class: 'waterfall', 'aria-label': 'Steps of the boot' },
    phases.map(({ name, started_at: at, took_ms: took, result }) =>
      h(
        'li',
        { key: name + at },
        h('span', null, name),
        h('span', { class: `span ${result ?? 'running'}`, style: { '--from': (Date.parse(at) - from) / whole, '--long': (took ?? 0) / whole } }),
        h('span', null, took === null ? 'in progress' : `${Math.round(took)} ms`),
      ),
    ),
  )
}
