import { h } from 'preact'
import { useState } from 'preact/hooks'
import { ask } from './api.js'
import { Choice, Text } from './fields.js'
import { Acts, Command, Facts, Heading, Loaded, Table, Time, link, path, useData, word } from './parts.js'
import { linesOf } from './policy-text.js'
import { Preview } from './preview.js'

const EVERY_MS = 5_000
const POLICIES = 'federation/v1/placement-policies'
export const policyAt = (name) => `${POLICIES}/${encodeURIComponent(name)}`

/** Placement policies, and to whose servers each applies. */
export function Policies() {
  const data = useData((signal) => ask(POLICIES, { signal }), [], EVERY_MS)
  return [
    h(Heading, null, 'Placement policies'),
    h('p', null, link(path('create-policy'), 'Create a placement policy')),
    h(Loaded, {
      data,
      show: ({ placement_policies: policies }) =>
        h(Table, {
          caption: 'Placement policies',
          none: 'There is no placement policy: all cells are alike to all servers.',
          rows: policies,
          columns: [
            ['Policy', ({ name }) => link(path('policies', name), name)],
            ['Applies to', (policy) => appliesTo(policy).join(', ') || 'nothing'],
            ['Tolerates', (policy) => linesOf(policy).tolerations.join(' ')],
            ['Prefers', (policy) => linesOf(policy).preference.join(' ')],
            ['Description', ({ description }) => description],
          ],
        }),
    }),
  ]
}

function appliesTo({ projects, flavors, is_default: isDefault, is_selectable: isSelectable }) {
  return [
    ...projects.map((id) => `project ${id}`),
    ...flavors.map((id) => `flavor ${id}`),
    ...(isDefault ? ['other servers'] : []),
    ...(isSelectable ? ['users who choose it'] : []),
  ]
}

/** A placement policy, and a dry run of a server to which it applies. */
export function Policy({ id: name }) {
  const data = useData((signal) => ask(policyAt(name), { signal }), [name], EVERY_MS)
  return [h(Heading, null, `Placement policy ${name}`), h(Loaded, { data, show: (policy) => h(Whole, { policy }) }), data.value !== undefined && h(DryRun, { policy: data.value })]
}

function Whole({ policy }) {
  const { name, description, cost_weight: cost, on_host_failure: onHost, on_guest_failure: onGuest, updated_at: at } = policy
  const lines = linesOf(policy)
  const list = (texts) => texts.map((text) => h('div', { key: text }, h('code', null, text)))
  const remove = {
    label: 'Delete',
    isDangerous: true,
    ask: `Delete placement policy ${name}? Its servers stay where they are.`,
    command: `./weir policy delete ${word(name)}`,
    act: async () => {
      await ask(policyAt(name), { method: 'DELETE' })
      location.hash = path('policies')
    },
  }
  const facts = [
    ['Description', description],
    ['Applies to', appliesTo(policy).map((each) => h('div', { key: each }, each))],
    ['Tolerates', list(lines.tolerations)],
    ['Prefers', list(lines.preference)],
    ['Spreads over', list(lines.spread)],
    ['Limits of a project in each cell', list(lines.limits)],
    ['Weight of prices', cost > 0 ? cost : undefined],
    ['If a host fails', onHost],
    ['If a guest fails', onGuest],
    ['Changed', h(Time, { at })],
  ]
  return [h(Facts, { facts }), h('p', null, link(path('policies', name, 'edit'), 'Change it')), h(Acts, { acts: [remove] })]
}

/** Where a server of a project or a flavor would go now. */
function DryRun({ policy }) {
  const data = useData(async (signal) => {
    const get = (path) => ask(path, { signal })
    const [{ flavors }, { images }, { projects }] = await Promise.all([
      get('compute/v2.1/flavors'),
      get('image/v2/images?status=active&sort=name:asc'),
      get('ui/session/projects'),
    ])
    return { flavors, images, projects }
  }, [policy.id])
  return h(Loaded, { data, show: (choices) => h(DryRunForm, { policy, ...choices }) })
}

const options = (objects) => objects.map(({ id, name }) => [id, name])

function DryRunForm({ policy, flavors, images, projects }) {
  const first = { flavor: policy.flavors[0] ?? flavors[0]?.id, image: images[0]?.id, project: policy.projects[0] ?? projects[0]?.name ?? '' }
  const [values, setValues] = useState(first)
  if (first.flavor === undefined || first.image === undefined) return h('p', null, 'There is no flavor or no image to try it with.')
  const field = { values, set: (change) => setValues({ ...values, ...change }) }
  const { flavor, image, project } = values
  const body = { flavor, image, ...(project !== '' && { project }), hints: policy.is_selectable ? { policy: policy.name } : {} }
  const chosen = policy.is_selectable ? ` --policy ${word(policy.name)}` : ''
  return [
    h('h2', null, 'Try it'),
    h(
      'form',
      { class: 'filters', onSubmit: (event) => event.preventDefault() },
      h(Choice, { ...field, name: 'flavor', label: 'Flavor ', options: options(flavors) }),
      h(Choice, { ...field, name: 'image', label: 'Image ', options: options(images) }),
      h(Text, { ...field, name: 'project', label: 'Project ', suggestions: projects.map(({ name }) => name), maxLength: 64 }),
    ),
    h('p', null, 'The same from the command line: ', h(Command, null, `./weir why --flavor ${word(flavor)} --image ${image}${project && ` --project ${word(project)}`}${chosen}`)),
    h(Preview, { body }),
  ]
}
