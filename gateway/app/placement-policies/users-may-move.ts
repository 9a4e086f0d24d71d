import { findRequestSpec } from '../../db/request-specs.ts'
import type { ComputeDeps } from '../compute.ts'
import { isAllowed } from '../policy.ts'
import type { RequestContext } from '../request-context.ts'
import type { ServerRecord } from '../servers/list/server-record.ts'
import { appliedPolicy } from './applied-policy.ts'

/**
 * Why the requester may not say which other cell the server goes to, as the end of a sentence; undefined: they may.
 * Administrators may, and users whose placement policy lets them move their servers.
 */
export async function whyNotMovable(
  { db, placementPolicies }: Pick<ComputeDeps, 'db' | 'placementPolicies'>,
  context: RequestContext,
  { id, projectId, flavor }: ServerRecord,
): Promise<string | undefined> {
  if (isAllowed(context, 'federation:servers:move:other')) return undefined
  const hint = (await findRequestSpec(db, id))?.spec.policyHint
  const subject = { projectId, flavorId: flavor.id, hint }
  const policy = appliedPolicy(placementPolicies.all(), subject)
  if (policy?.rules.usersMayMove === true) return undefined
  const lets = policy === null ? 'no policy lets' : `placement policy ${policy.name} does not let`
  return `${lets} users move their servers. Ask an administrator.`
}
