import { Failure } from '#common/errors.ts'
import { type RequestedAmounts, requestedAmounts } from './resource-classes.ts'

/** What one group of a request asks for: the one without a suffix of several providers of a tree, others of one each. */
export interface RequestGroup {
  /** Empty: the group without one. */
  readonly suffix: string
  /** Empty: it takes nothing, and says where others are to be. */
  readonly amounts: RequestedAmounts
  /** As in the query. */
  readonly required: readonly string[]
  readonly memberOf: readonly string[]
  readonly inTree: string | undefined
}

export interface CandidateRequest {
  readonly groups: readonly RequestGroup[]
  /** Groups with suffixes have a provider of their own each. */
  readonly isIsolated: boolean
  /** Suffixes of groups whose providers one of them is, or is above. */
  readonly subtrees: readonly (readonly string[])[]
  readonly rootRequired: string | undefined
  readonly limit: number | undefined
}

/** A query by the names of its parameters, those of groups with their suffixes. */
export type CandidateQuery = Readonly<Record<string, unknown>>

const PARTS = ['resources', 'required', 'member_of', 'in_tree'] as const
const GROUP_PARAMETER = /^(resources|required|member_of|in_tree)(.*)$/s
const TRAITS_KEY = 'required'

/** Throws `invalid`, in Placement's words, for groups that ask for nothing or contradict each other. */
export function candidateRequest(query: CandidateQuery): CandidateRequest {
  const suffixes = new Set(
    Object.keys(query).flatMap((name) => GROUP_PARAMETER.exec(name)?.[2] ?? []),
  )
  const groups = [...suffixes].toSorted().map((suffix) => groupOf(query, suffix))
  const subtrees = textsOf(query['same_subtree']).map((text) => text.split(','))
  const policy = query['group_policy']
  refuseWithoutResources(groups, subtrees)
  refuseUnknownSuffixes(groups, subtrees)
  const granular = groups.filter(({ suffix }) => suffix !== '')
  if (granular.length > 1 && policy === undefined)
    throw new Failure(
      'invalid',
      'The "group_policy" parameter is required when specifying more than one "resources{N}" parameter.',
    )
  return {
    groups,
    isIsolated: policy === 'isolate',
    subtrees,
    rootRequired: query['root_required'] as string | undefined,
    limit: query['limit'] as number | undefined,
  }
}

function groupOf(query: CandidateQuery, suffix: string): RequestGroup {
  const [resources, required, memberOf, inTree] = PARTS.map((part) => query[`${part}${suffix}`])
  const traits = textsOf(required)
  refuseContradiction(`${TRAITS_KEY}${suffix}`, traits)
  return {
    suffix,
    amounts: resources === undefined ? new Map() : requestedAmounts(resources as string),
    required: traits,
    memberOf: textsOf(memberOf),
    inTree: inTree as string | undefined,
  }
}

function textsOf(value: unknown): readonly string[] {
  return value === undefined ? [] : ([value].flat() as unknown as readonly string[])
}

/** Only a group that says where others are to be may take nothing. */
function refuseWithoutResources(
  groups: readonly RequestGroup[],
  subtrees: CandidateRequest['subtrees'],
): void {
  if (!groups.some(({ amounts }) => amounts.size > 0))
    throw new Failure('invalid', 'There must be at least one resources or resources[$S] parameter.')
  const placed = new Set(subtrees.flat())
  const bare = groups.filter(({ suffix, amounts }) => amounts.size === 0 && !placed.has(suffix))
  if (bare.length === 0) return
  const names = bare.map(({ suffix }) => `"${suffix}"`).join(', ')
  throw new Failure(
    'invalid',
    `A request group without resources must have a suffix that same_subtree names: group ${names} has neither.`,
  )
}

function refuseUnknownSuffixes(
  groups: readonly RequestGroup[],
  subtrees: CandidateRequest['subtrees'],
): void {
  const known = groups.flatMap(({ suffix }) => (suffix === '' ? [] : [suffix]))
  const unknown = subtrees.flat().filter((suffix) => !known.includes(suffix))
  if (unknown.length > 0)
    throw new Failure(
      'invalid',
      `Real suffixes should be specified in \`same_subtree\`: ${unknown.join(', ')} not found in ${known.join(', ')}.`,
    )
}

/** Every condition needs a trait that is not forbidden. */
function refuseContradiction(key: string, required: readonly string[]): void {
  const conditions = required.flatMap((text) =>
    text.startsWith('in:')
      ? [text.slice('in:'.length).split(',')]
      : text.split(',').map((name) => [name]),
  )
  const forbidden = new Set(
    conditions.flat().flatMap((name) => (name.startsWith('!') ? [name.slice(1)] : [])),
  )
  const conflicts = conditions
    .filter((names) => names.every((name) => forbidden.has(name)))
    .map((names) => `${key}: (${names.toSorted().join(', ')})`)
  if (conflicts.length > 0)
    throw new Failure(
      'invalid',
      `Conflicting required and forbidden traits found in the following traits keys: ${conflicts.toSorted().join(', ')}.`,
    )
}
