import type { Executor } from '#common/db/database.ts'
import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import { listAggregates } from '../../db/aggregates.ts'
import { findHost, type HostRecord, listHosts } from '../../db/host-list.ts'
import { findProviderSettings, listProviderSettings } from '../../db/provider-settings.ts'
import {
  type ProvidedInventory,
  type Provider,
  type ProviderTree,
  providersOf,
} from './provider.ts'
import {
  hasRoom,
  hasTraits,
  isMember,
  isProvider,
  type ProviderFilter,
  treesWith,
} from './provider-filters.ts'
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

/** Of all cells, the parts of hosts that meet every condition. Throws `invalid` for one that is malformed. */
export async function listProviders(
  db: Executor,
  query: ProviderQuery,
): Promise<readonly Provider[]> {
  const trees = await providerTrees(db)
  const filters = filtersOf(query)
  return treesWith(trees, query.in_tree)
    .flat()
    .filter((provider) => filters.every((filter) => filter(provider)))
}

/** Hosts that are read, and become providers, at a time. */
const PAGE = 1_000

/** Of the hosts of all cells, page by page: however many there are, other requests wait for one page at a time. */
export async function* treePages(
  db: Executor,
  limit = PAGE,
): AsyncGenerator<readonly ProviderTree[]> {
  const [aggregates, decided] = await Promise.all([listAggregates(db), listProviderSettings(db)])
  let page: readonly HostRecord[] = []
  do {
    page = await listHosts(db, { after: page.at(-1)?.serial ?? 0, limit })
    yield page.map((host) => providersOf(host, aggregates, decided.get(host.view.hostId)))
  } while (page.length === limit)
}

/** The same, all at once. */
export async function providerTrees(db: Executor): Promise<readonly ProviderTree[]> {
  const trees: ProviderTree[] = []
  for await (const page of treePages(db)) trees.push(...page)
  return trees
}

/** Throws `not-found`. */
export async function findProvider(db: Executor, id: string): Promise<Provider> {
  return (await findTree(db, id)).find((provider) => provider.id === id)!
}

/** The host with its parts, one of which this is the id of. Throws `not-found`. */
export async function findTree(db: Executor, id: string): Promise<ProviderTree> {
  if (isUuid(id)) {
    const host = await findHost(db, id)
    if (host !== undefined)
      return providersOf(host, await listAggregates(db), await findProviderSettings(db, id))
    const tree = treesWith(await providerTrees(db), id)[0]
    if (tree !== undefined) return tree
  }
  throw new Failure('not-found', `No resource provider with uuid ${id} found.`)
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
  const { name, uuid, resources, member_of: memberOf = [], required = [] } = query
  return [
    ...(name === undefined ? [] : [(provider: Provider) => provider.name === name]),
    ...(uuid === undefined ? [] : [isProvider(uuid)]),
    ...(resources === undefined ? [] : [hasRoom(requestedAmounts(resources))]),
    isMember(memberOf),
    hasTraits(required),
  ]
}
