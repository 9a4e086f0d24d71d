import { Failure } from '#common/errors.ts'
import type { components, operations } from '#openapi/federation.gen.ts'
import type { CloudOptions } from '../cloud/cloud-config.ts'
import { openSession } from '../cloud/session.ts'
import type { Operator } from '../operator.ts'
import { present, type ViewOptions } from '../output/present.ts'
import { fieldsView, type Listing, listView } from '../output/view.ts'

type Policy = components['schemas']['PlacementPolicy']
type Change = operations['updatePlacementPolicy']['requestBody']['content']['application/json']

/** False: the `--no-` form. */
export interface PolicyOptions extends ViewOptions {
  readonly name?: string
  readonly description?: string
  readonly project?: readonly string[] | false
  readonly flavor?: readonly string[] | false
  readonly default?: boolean
  readonly selectable?: boolean
  readonly tolerate?: readonly components['schemas']['Toleration'][] | false
  readonly limit?: components['schemas']['CellLimits'] | false
  readonly costWeight?: number
  readonly onHostFailure?: Policy['on_host_failure']
  readonly onGuestFailure?: Policy['on_guest_failure']
  readonly usersMayMove?: boolean
  readonly drainToOtherCells?: boolean
  readonly spread?: components['schemas']['Spread'] | false
  readonly prefer?: readonly components['schemas']['CellSelector'][] | false
}

const LISTING: Listing<Policy> = {
  plural: 'placement policies',
  nameOf: ({ name }) => name,
  columns: [
    { head: 'NAME', of: ({ name }) => name },
    { head: 'APPLIES TO', of: appliesTo },
    { head: 'TOLERATES', of: ({ tolerations }) => tolerations.map(tolerationText).join(' ') },
    { head: 'PREFERS', of: ({ preference }) => preference.map(selectorText).join(' ') },
    { head: 'SPREADS', of: ({ spread }) => spread && spreadText(spread) },
    { head: 'LIMITS', of: ({ limits }) => limits && limitsText(limits) },
    { head: 'ON HOST FAILURE', of: ({ on_host_failure }) => on_host_failure, isWide: true },
    { head: 'ON GUEST FAILURE', of: ({ on_guest_failure }) => on_guest_failure, isWide: true },
    { head: 'USERS MAY MOVE', of: ({ users_may_move }) => users_may_move, isWide: true },
    {
      head: 'DRAIN TO OTHER CELLS',
      of: ({ drains_to_other_cells }) => drains_to_other_cells,
      isWide: true,
    },
    { head: 'COST WEIGHT', of: ({ cost_weight }) => cost_weight, isWide: true },
    { head: 'DESCRIPTION', of: ({ description }) => description, isWide: true },
    { head: 'ID', of: ({ id }) => id, isWide: true },
  ],
}

export async function listPolicies(operator: Operator, options: ViewOptions): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const { placement_policies: policies } = await federation.ask('get', '/v1/placement-policies')
    return listView(policies, LISTING)
  })
}

export async function showPolicy(
  operator: Operator,
  name: string,
  options: ViewOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const path = { placement_policy: name }
    const url = '/v1/placement-policies/{placement_policy}'
    return fieldsView(await federation.ask('get', url, { path }), LISTING)
  })
}

/** Afterwards the policy applies to new choices of cells, and is shown. */
export async function createPolicy(
  operator: Operator,
  name: string,
  options: PolicyOptions,
): Promise<void> {
  await present(operator, options, async ({ federation }) => {
    const body = { ...changeOf(options), name }
    return fieldsView(await federation.ask('post', '/v1/placement-policies', { body }), LISTING)
  })
}

/** Afterwards the policy is as the options say, and is shown. Throws `invalid` where they say nothing. */
export async function updatePolicy(
  operator: Operator,
  name: string,
  options: PolicyOptions,
): Promise<void> {
  const body = changeOf(options)
  if (Object.keys(body).length === 0)
    throw new Failure('invalid', 'Name a change, such as --project or --tolerate.')
  await present(operator, options, async ({ federation }) => {
    const path = { placement_policy: name }
    const url = '/v1/placement-policies/{placement_policy}'
    return fieldsView(await federation.ask('patch', url, { path, body }), LISTING)
  })
}

/** Afterwards the policy applies to no choice any more. */
export async function deletePolicy(
  operator: Operator,
  name: string,
  options: CloudOptions,
): Promise<void> {
  const { federation } = await openSession(operator, options)
  const path = { placement_policy: name }
  await federation.ask('delete', '/v1/placement-policies/{placement_policy}', { path })
  operator.err.write(`Placement policy ${name} is deleted.\n`)
}

function changeOf(options: PolicyOptions): Change {
  const {
    name,
    description,
    project,
    flavor,
    selectable,
    tolerate,
    prefer,
    spread,
    limit,
    costWeight,
    onHostFailure,
    onGuestFailure,
    usersMayMove,
    drainToOtherCells,
  } = options
  const given: { readonly [Name in keyof Change]: Change[Name] | undefined } = {
    name,
    description,
    projects: listOf(project),
    flavors: listOf(flavor),
    is_default: options.default,
    is_selectable: selectable,
    tolerations: listOf(tolerate),
    preference: listOf(prefer),
    spread: spread === false ? null : spread,
    limits: limit === false ? null : limit,
    cost_weight: costWeight,
    on_host_failure: onHostFailure,
    on_guest_failure: onGuestFailure,
    users_may_move: usersMayMove,
    drains_to_other_cells: drainToOtherCells,
  }
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== undefined))
}

function listOf<Value>(given: readonly Value[] | false | undefined): readonly Value[] | undefined {
  return given === false ? [] : given
}

function appliesTo({ projects, flavors, is_default, is_selectable }: Policy): string {
  const parts = [
    ...projects.map((id) => `project ${id}`),
    ...flavors.map((id) => `flavor ${id}`),
    ...(is_default ? ['other servers'] : []),
    ...(is_selectable ? ['users who choose it'] : []),
  ]
  return parts.join(', ') || 'nothing'
}

function selectorText({ cells = [], labels = {} }: Policy['preference'][number]): string {
  const parts = [...cells, ...Object.entries(labels).map(([key, value]) => `${key}=${value}`)]
  return parts.join(',') || '*'
}

function spreadText({
  over,
  max_skew = 1,
  is_required = false,
}: NonNullable<Policy['spread']>): string {
  return `${over}:${max_skew}${is_required ? ':required' : ''}`
}

function limitsText(limits: NonNullable<Policy['limits']>): string {
  return Object.entries(limits)
    .flatMap(([name, limit]) => (limit === null ? [] : [`${name}=${limit}`]))
    .join(' ')
}

function tolerationText({ key, value, effect }: Policy['tolerations'][number]): string {
  return `${key}${value == null ? '' : `=${value}`}${effect == null ? '' : `:${effect}`}`
}
