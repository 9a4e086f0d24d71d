import type { Executor } from '#common/db/database.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import { isUuid } from '#common/ids.ts'
import { PROVIDED_CLASSES } from '#common/resource-classes.ts'
import type { FlavorSnapshot } from '#openapi/wire/instance.ts'
import {
  type Consumer,
  consumersOfHost,
  consumersOfProject,
  findConsumer,
} from '../../db/allocations.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { findTree } from './list-providers.ts'
import type { Provider, ProviderTree } from './provider.ts'
import type { Amounts } from './resource-classes.ts'

/** The resources that a server holds on a host. */
export interface Allocation {
  readonly consumer: Consumer
  readonly resources: Amounts
}

/** Every consumer here is a server. */
export const CONSUMER_TYPE = 'INSTANCE'

/** Who uses what of a host. Throws `not-found`. */
export async function providerAllocations(
  db: Executor,
  id: string,
): Promise<{ readonly provider: Provider; readonly allocations: readonly Allocation[] }> {
  const tree = await findTree(db, id)
  const provider = tree.find((each) => each.id === id)!
  const consumers = await consumersOfHost(db, { name: provider.host, hostId: provider.rootId })
  const allocations = consumers.flatMap((consumer) => {
    const resources = heldOf(consumer, tree).get(provider)
    return resources === undefined ? [] : [{ consumer, resources }]
  })
  return { provider, allocations }
}

/** What a server holds, by provider; undefined for a server without a host. */
export async function consumerAllocations(
  db: Executor,
  id: string,
): Promise<
  { readonly consumer: Consumer; readonly held: ReadonlyMap<Provider, Amounts> } | undefined
> {
  const consumer = isUuid(id) ? await findConsumer(db, id) : undefined
  if (consumer === undefined) return undefined
  return { consumer, held: heldOf(consumer, await findTree(db, consumer.hostId)) }
}

/** Each class is held of the part of the host that has it. */
function heldOf(consumer: Consumer, tree: ProviderTree): ReadonlyMap<Provider, Amounts> {
  const held = new Map<Provider, Record<string, number>>()
  for (const [name, amount] of Object.entries(resourcesOf(consumer.flavor))) {
    const provider = tree.find(({ inventories }) => inventories.has(name)) ?? tree[0]
    held.set(provider, { ...held.get(provider), [name]: amount })
  }
  return held
}

export interface ProjectUsages {
  readonly resources: Amounts
  readonly consumers: number
}

/** The usage of a project's servers on all hosts. Throws `forbidden` for another project, except for administrators. */
export async function projectUsages(
  db: Executor,
  caller: Caller,
  asked: { readonly projectId: string; readonly userId: string | undefined },
): Promise<ProjectUsages> {
  if (asked.projectId !== caller.projectId) enforce(caller, 'placement:usages:other_project')
  const consumers = await consumersOfProject(db, asked.projectId, asked.userId)
  const amounts = consumers.map(({ flavor }) => resourcesOf(flavor))
  const names = new Set([...PROVIDED_CLASSES, ...amounts.flatMap((each) => Object.keys(each))])
  const sums = [...names].map((name) => {
    return [name, amounts.reduce((sum, each) => sum + (each[name] ?? 0), 0)] as const
  })
  return {
    resources: consumers.length === 0 ? {} : Object.fromEntries(sums),
    consumers: consumers.length,
  }
}

/** As cells claim it. Nothing is claimed of a class of which there is none. */
function resourcesOf(flavor: FlavorSnapshot): Amounts {
  const { vcpus, memoryMb, diskGb, custom } = flavorResources(flavor)
  const all = { VCPU: vcpus, MEMORY_MB: memoryMb, DISK_GB: diskGb, ...custom }
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount > 0))
}
