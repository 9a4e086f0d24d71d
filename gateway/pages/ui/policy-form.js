import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from './api.js'
import { Check, Choice, Lines, Text } from './fields.js'
import { Acts, Heading, Loaded, path, Problem, useData, word } from './parts.js'
import { policyAt } from './policies.js'
import { linesOf, MEANT, OPTION } from './policy-text.js'

const NEW = {
  name: '',
  description: null,
  is_default: false,
  is_selectable: false,
  cost_weight: 0,
  on_host_failure: 'evacuate',
  on_guest_failure: 'none',
  users_may_move: false,
  ...{ projects: [], flavors: [], tolerations: [], preference: [], spread: null, limits: null },
}
const LISTS = [
  ['projects', 'Projects to whose servers it applies, one a line'],
  ['flavors', 'Flavors to whose servers it applies, one a line'],
  ['tolerations', 'Tolerated taints, each KEY[=VALUE][:EFFECT]'],
  ['preference', 'Preferred cells in order, each KEY=VALUE or a name, several with commas, or *'],
  ['limits', 'Limits of a project in each cell: servers=N, vcpus=N, memory_mb=N'],
]

export const CreatePolicy = () => [h(Heading, null, 'Create a placement policy'), h(Form, { policy: NEW })]

export function EditPolicy({ id: name }) {
  const data = useData((signal) => ask(policyAt(name), { signal }), [name])
  return [h(Heading, null, `Change placement policy ${name}`), h(Loaded, { data, show: (policy) => h(Form, { policy, name }) })]
}

/** What people type for a policy. */
function typed(policy) {
  const { name, description, is_default, is_selectable, cost_weight: cost, on_host_failure, on_guest_failure, users_may_move } = policy
  const lines = Object.fromEntries(Object.entries(linesOf(policy)).map(([key, texts]) => [key, texts.join('\n')]))
  return { name, description: description ?? '', is_default, is_selectable, cost_weight: String(cost), on_host_failure, on_guest_failure, users_may_move, ...lines }
}

const linesIn = (text) => text.split('\n').map((line) => line.trim()).filter((line) => line !== '')

/** The fields that differ from before, for the API, and the options of the command line that say the same. Throws an `Error` for a line that it cannot read. */
function changeOf(before, values) {
  const body = {}
  const options = []
  for (const [key, value] of Object.entries(values)) {
    if (value === before[key]) continue
    if (key in MEANT) {
      const lines = linesIn(value)
      body[key] = MEANT[key](lines)
      options.push(lines.length === 0 ? `--no-${OPTION[key]}` : `--${OPTION[key]} ${lines.map(word).join(' ')}`)
    } else if (typeof value === 'boolean') {
      body[key] = value
      options.push(`--${value ? '' : 'no-'}${key.replace(/^is_/, '').replaceAll('_', '-')}`)
    } else {
      body[key] = key === 'cost_weight' ? Number(value) : value.trim() || null
      options.push(`--${key.replaceAll('_', '-')} ${word(value.trim())}`)
    }
  }
  return { body, options }
}

function Form({ policy, name }) {
  const before = typed(policy)
  const [values, setValues] = useState(before)
  const field = { values, set: (change) => setValues({ ...values, ...change }) }
  return h(
    'form',
    { class: 'narrow', onSubmit: (event) => event.preventDefault() },
    h(Text, { ...field, name: 'name', label: 'Name', required: true, maxLength: 64 }),
    h(Text, { ...field, name: 'description', label: 'Description', maxLength: 255 }),
    LISTS.map(([key, label]) => h(Lines, { ...field, key, name: key, label })),
    h(Text, { ...field, name: 'spread', label: 'Spread the servers of each project: cell or zone[:MAX_SKEW[:required]]' }),
    h(Check, { ...field, name: 'is_default', label: 'It applies to servers to which no other policy applies' }),
    h(Check, { ...field, name: 'is_selectable', label: 'Users may choose it, by the hint policy' }),
    h(Check, { ...field, name: 'users_may_move', label: 'Users may move their servers to other cells' }),
    h(Text, { ...field, name: 'cost_weight', label: 'Weight of prices; 0: they do not count', type: 'number', min: 0, max: 1_000, step: 'any' }),
    h(Choice, { ...field, name: 'on_host_failure', label: 'Servers whose host fails', options: [['evacuate', 'are built on another'], ['restart', 'start when it is back'], ['none', 'stay off']] }),
    h(Choice, { ...field, name: 'on_guest_failure', label: 'Servers whose guest fails', options: [['none', 'stay off'], ['restart', 'are started again']] }),
    h(Save, { before, values, name }),
  )
}

function Save({ before, values, name }) {
  if (values.name.trim() === '') return null
  try {
    const { body, options } = changeOf(before, values)
    if (Object.keys(body).length === 0) return null
    const act = async () => {
      const saved = await ask(name === undefined ? 'federation/v1/placement-policies' : policyAt(name), { method: name === undefined ? 'POST' : 'PATCH', body })
      location.hash = path('policies', saved.name)
    }
    const given = name === undefined ? options.filter((option) => !option.startsWith('--name ')) : options
    const command = ['./weir policy', name === undefined ? 'create' : 'update', word(name ?? values.name.trim()), ...given].join(' ')
    return h(Acts, { acts: [{ label: name === undefined ? 'Create' : 'Save', command, act }] })
  } catch (error) {
    return h(Problem, { error })
  }
}
