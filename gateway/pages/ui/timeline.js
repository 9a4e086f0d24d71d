// What happened to a server: actions with their steps, states, migrations and the choices of cells and hosts, in one order.
import { h } from 'preact'
import { ask, query } from './api.js'
import { Loaded, link, path, State, Time, useData } from './parts.js'

const EVERY_MS = 6_000
/** The newest of each kind. */
const ACTIONS_MAX = 20
const STATES_MAX = 40

/** `decisions`: the scheduler's, undefined for those who may not see them. */
export function Timeline({ id, at, session, decisions = [] }) {
  const data = useData((signal) => load(id, at, session.is_admin, signal), [id], EVERY_MS)
  const show = (entries) =>
    h(
      'ol',
      { class: 'timeline' },
      [...entries, ...decisions.map(entryOfDecision)].toSorted((a, b) => b.when - a.when).map(({ key, at: time, what }) => h('li', { key }, h(Time, { at: time }), ' ', what)),
    )
  return h('section', { 'aria-label': 'Timeline' }, h('h2', null, 'Timeline'), h(Loaded, { data, show }))
}

async function load(id, at, isOperator, signal) {
  const get = (what) => ask(what, { signal })
  const [actions, { events }, { migrations }] = await Promise.all([
    actionsOf(at, signal),
    get(`federation/v1/events${query({ server: id, type: 'server.state', limit: STATES_MAX })}`),
    isOperator ? get(`compute/v2.1/os-migrations${query({ instance_uuid: id })}`) : { migrations: [] },
  ])
  return [...actions.map(entryOfAction), ...events.map(entryOfState), ...migrations.map(entryOfMigration)]
}

async function actionsOf(at, signal) {
  const { instanceActions } = await ask(`${at}/os-instance-actions?limit=${ACTIONS_MAX}`, { signal })
  return Promise.all(instanceActions.map(async ({ request_id: request }) => (await ask(`${at}/os-instance-actions/${request}`, { signal })).instanceAction))
}

/** Compute's times are in UTC and may not say so. */
const entry = (kind, key, time, what) => {
  const at = time.replace(/Z?$/, 'Z')
  return { key: `${kind} ${key}`, at, when: Date.parse(at), what }
}

function entryOfAction({ action: name, start_time: at, request_id: request, message, events = [] }) {
  return entry('action', request + name, at, [
    h('strong', null, name),
    message !== null && h('span', { class: 'problem' }, ` ${message}`),
    ' ',
    link(`${path('events')}?request=${request}`, h('small', null, request)),
    h('ul', null, events.toReversed().map(({ event, result, host }) => h('li', { key: event }, `${event} `, h(State, null, (result ?? 'running').toLowerCase()), host && ` on ${host}`))),
  ])
}

function entryOfState({ id, at, state, task_state: task, power_state: power, cell }) {
  const more = [task, power === null ? null : `power ${power}`, cell && `in cell ${cell}`].filter(Boolean)
  return entry('state', id, at, ['is ', h(State, null, state ?? 'unknown'), more.length > 0 && `, ${more.join(', ')}`])
}

function entryOfMigration({ id, created_at: at, migration_type: kind, source_compute: from, dest_compute: to, status }) {
  return entry('migration', id, at, [h('strong', null, kind), ` from ${from ?? 'nowhere'} to ${to ?? 'a host not chosen yet'}: `, h(State, null, status)])
}

function entryOfDecision({ level, at, attempt, cell, chosen }, nth) {
  const what = level === 'cells' ? 'Cell' : `Host in cell ${cell ?? 'unknown'}`
  return entry('decision', nth, at, [`${what} chosen (attempt ${attempt}): `, chosen === null ? h(State, null, 'failed') : level === 'cells' ? link(path('cells', chosen), chosen) : chosen])
}
