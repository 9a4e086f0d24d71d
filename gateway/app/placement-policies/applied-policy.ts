import { Failure } from '#common/errors.ts'
import type { PlacementPolicy } from '../../db/placement-policies.ts'

/** Why a policy applies to a server, and no other does. */
export type BoundBy = 'hint' | 'project' | 'flavor' | 'default'

/** The policy that applies to a server. */
export interface AppliedPolicy extends Pick<PlacementPolicy, 'id' | 'name' | 'rules'> {
  readonly boundBy: BoundBy
  /** The server's. */
  readonly projectId: string
}

/** What of a server decides which policy applies to it. */
export interface PolicySubject {
  readonly projectId: string
  readonly flavorId: string
  /** The name that the hint `policy` gives; undefined: it has none. */
  readonly hint: string | undefined
}

/**
 * The one policy of a server: that of its hint, or else of its project, its flavor, or the default; null: none. A hint
 * counts as long as users may choose that policy, and otherwise the server is placed as if it had none.
 */
export function appliedPolicy(
  policies: readonly PlacementPolicy[],
  { projectId, flavorId, hint }: PolicySubject,
): AppliedPolicy | null {
  if (policies.length === 0) return null
  const bounds: readonly (readonly [BoundBy, (policy: PlacementPolicy) => boolean])[] = [
    ['hint', ({ name, isSelectable }) => isSelectable && name === hint],
    ['project', ({ projectIds }) => projectIds.includes(projectId)],
    ['flavor', ({ flavorIds }) => flavorIds.includes(flavorId)],
    ['default', ({ isDefault }) => isDefault],
  ]
  for (const [boundBy, isBound] of bounds) {
    const found = policies.find(isBound)
    if (found !== undefined)
      return { id: found.id, name: found.name, rules: found.rules, boundBy, projectId }
  }
  return null
}

/**
 * The name that the hint `policy` gives. Throws `invalid` for a policy that users may not choose, in the same words as for
 * one that does not exist.
 */
export function policyHint(
  policies: readonly PlacementPolicy[],
  { policy }: Readonly<Record<string, unknown>>,
): string | undefined {
  const [given] = [policy].flat()
  if (given === undefined || given === '') return undefined
  const hint = typeof given === 'string' ? given : JSON.stringify(given)
  if (policies.some(({ name, isSelectable }) => isSelectable && name === hint)) return hint
  const names = policies.filter(({ isSelectable }) => isSelectable).map(({ name }) => name)
  throw new Failure(
    'invalid',
    `Scheduler hint 'policy': there is no placement policy '${hint}' that users may choose. They may choose: ${names.join(', ') || 'none'}.`,
  )
}
