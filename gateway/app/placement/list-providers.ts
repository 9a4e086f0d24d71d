import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { listAggregates } from '../../db/aggregates.ts'
import { findHost, listHosts } from '../../db/host-list.ts'
import { type ProvidedInventory, type Provider, providerOf } from './provider.ts'
import { hasRoom, hasTraits, isInTree, isMember, type ProviderFilter } from './provider-filters.ts'
import { requestedAmounts } from './resource-classes.ts'

/** The filters of a request for providers or candidates, as in its query. */
export interface ProviderQuery {
  readonly name?: string
  readonly uuid?: string
  readonly member_of?: readonly string[]
  readonly resources?: string
  readonly in_tree?: string
  readonly required?: readonly string[]
}

/** The hosts of all cells that meet every condition. Throws `invalid` for one that is malformed. */
export async function listProviders(
  db: Executor,
  query: ProviderQuery,
): Promise<readonly Provider[]> {
  const filters = filtersOf(query)
  const [hosts, aggregates] = await Promise.all([listHosts(db), listAggregates(db)])
  const providers = hosts.map((host) => providerOf(host, aggregates))
  return providers.filter((provider) => filters.every((filter) => filter(provider)))
}

/** Throws `not-found`. */
export async function findProvider(db: Executor, id: string): Promise<Provider> {
  const host = isUuid(id) ? await findHost(db, id) : undefined
  if (host === undefined)
    throw new Failure('not-found', `No resource provider with uuid ${id} found.`)
  return providerOf(host, await listAggregates(db))
}

/** A host's inventory of one class. Throws `not-found`. */
export async function providerInventory(
  db: Executor,
  id: string,
  name: string,
): Promise<{ readonly provider: Provider; readonly inventory: ProvidedInventory }> {
  const provider = await findProvider(db, id)
  const found = [...provider.inventories].find(([provided]) => provided === name)
  if (found === undefined)
    throw new Failure(
      'not-found',
      `No inventory of class ${name} found for resource provider ${id}.`,
    )
  return { provider, inventory: found[1] }
}

function filtersOf(query: ProviderQuery): readonly ProviderFilter[] {
  const { name, uuid, resources, in_tree: tree, member_of: memberOf = [], required = [] } = query
  return [
    ...(name === undefined ? [] : [(provider: Provider) => provider.name === name]),
    ...(uuid === undefined ? [] : [isInTree(uuid)]),
    ...(tree === undefined ? [] : [isInTree(tree)]),
    ...(resources === undefined ? [] : [hasRoom(requestedAmounts(resources))]),
    isMember(memberOf),
    hasTraits(required),
  ]
}
