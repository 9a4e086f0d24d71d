import type { Executor } from '#common/db/database.ts'
import { listProviders, type ProviderQuery } from './list-providers.ts'
import type { Provider } from './provider.ts'
import { hasTraits } from './provider-filters.ts'
import { type RequestedAmounts, requestedAmounts } from './resource-classes.ts'

export interface CandidateQuery extends ProviderQuery {
  readonly resources: string
  readonly root_required?: string
  readonly limit?: number
}

export interface Candidates {
  readonly requested: RequestedAmounts
  readonly providers: readonly Provider[]
}

/** The hosts on which the whole request fits now. Throws `invalid`. */
export async function allocationCandidates(
  db: Executor,
  { root_required: root, limit, ...query }: CandidateQuery,
): Promise<Candidates> {
  const isRoot = hasTraits(root === undefined ? [] : [root])
  const providers = (await listProviders(db, query)).filter(isRoot)
  return { requested: requestedAmounts(query.resources), providers: providers.slice(0, limit) }
}
