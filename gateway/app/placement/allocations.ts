import type { Executor } from '#common/db/database.ts'
import { flavorResources } from '#common/flavor-resources.ts'
import { DEDICATED_CPUS } from '#common/hardware-resources.ts'
import { isUuid } from '#common/ids.ts'
import { PROVIDED_CLASSES } from '#common/resource-classes.ts'
import {
  type Consumer,
  consumersOfHost,
  consumersOfProject,
  findConsumer,
} from '../../db/allocations.ts'
import { enforce } from '../policy.ts'
import type { Caller } from '../request-context.ts'
import { heldOfEach } from './held.ts'
import { findTree } from './list-providers.ts'
import type { Provider, ProviderTree } from './provider.ts'
import type { Amounts } from './resource-classes.ts'

/** The resources that a consumer holds on a host. */
export interface Allocation {
  readonly consumer: Consumer
  readonly resources: Amounts
}

/** Who uses what of a host. Throws `not-found`. */
export async function providerAllocations(
  db: Executor,
  id: string,
): Promise<{ readonly provider: Provider; readonly allocations: readonly Allocation[] }> {
  const tree = await findTree(db, id)
  const provider = tree.find((each) => each.id === id)!
  const held = heldOfEach(await consumersOn(db, tree), tree, resourcesOf)
  const allocations = [...held].flatMap(([consumer, by]) => {
    const resources = by.get(provider)
    return resources === undefined ? [] : [{ consumer, resources }]
  })
  return { provider, allocations }
}

/** What a server or a migration holds, by provider; undefined for one that holds nothing. */
export async function consumerAllocations(
  db: Executor,
  id: string,
): Promise<
  { readonly consumer: Consumer; readonly held: ReadonlyMap<Provider, Amounts> } | undefined
> {
  const consumer = isUuid(id) ? await findConsumer(db, id) : undefined
  if (consumer === undefined) return undefined
  const tree = await findTree(db, consumer.hostId)
  // What is on NUMA nodes without having been chosen depends on what others hold of them.
  const isAlone = tree.every(({ numaNode }) => numaNode === undefined)
  const held = heldOfEach(isAlone ? [consumer] : await consumersOn(db, tree), tree, resourcesOf)
  const own = [...held].find(([each]) => each.id === consumer.id)
  return { consumer, held: own?.[1] ?? new Map() }
}

function consumersOn(db: Executor, [root]: ProviderTree): Promise<readonly Consumer[]> {
  return consumersOfHost(db, { name: root.host, hostId: root.id })
}

export interface Usages {
  readonly resources: Amounts
  readonly consumers: number
}

/** Of the consumers of a project, by their type, and of all of them. */
export interface ProjectUsages {
  readonly byType: ReadonlyMap<string, Usages>
  readonly all: Usages
}

/** The usage of a project's servers and their migrations on all hosts. Throws `forbidden` for another project, except for administrators. */
export async function projectUsages(
  db: Executor,
  caller: Caller,
  asked: { readonly projectId: string; readonly userId: string | undefined },
): Promise<ProjectUsages> {
  if (asked.projectId !== caller.projectId) enforce(caller, 'placement:usages:other_project')
  const consumers = await consumersOfProject(db, asked.projectId, asked.userId)
  const byType = Map.groupBy(consumers, ({ type }) => type)
  return {
    byType: new Map([...byType].map(([type, those]) => [type, usagesOf(those)])),
    all: usagesOf(consumers),
  }
}

function usagesOf(consumers: readonly Consumer[]): Usages {
  const amounts = consumers.map(resourcesOf)
  const names = new Set([...PROVIDED_CLASSES, ...amounts.flatMap((each) => Object.keys(each))])
  const sums = [...names].map((name) => {
    return [name, amounts.reduce((sum, each) => sum + (each[name] ?? 0), 0)] as const
  })
  return {
    resources: consumers.length === 0 ? {} : Object.fromEntries(sums),
    consumers: consumers.length,
  }
}

/** As its cell says, or else as its flavor asks: nothing is claimed of a class of which there is none. */
function resourcesOf({ flavor, held, numa }: Pick<Consumer, 'flavor' | 'held' | 'numa'>): Amounts {
  return held ?? takenByFlavor({ flavor, numa })
}

/** Only what is chosen of NUMA nodes shows what the image asks for, such as dedicated CPUs instead of shared ones. */
function takenByFlavor({ flavor, numa }: Pick<Consumer, 'flavor' | 'numa'>): Amounts {
  const { vcpus, memoryMb, diskGb, custom = {} } = flavorResources(flavor)
  const ofImage: Record<string, number> = {}
  for (const amounts of Object.values(numa?.resources ?? {}))
    for (const [name, amount] of Object.entries(amounts))
      if (!COUNTED.has(name) && custom[name] === undefined)
        ofImage[name] = (ofImage[name] ?? 0) + amount
  const shared = Math.max(0, vcpus - (ofImage[DEDICATED_CPUS] ?? 0))
  const all = { VCPU: shared, MEMORY_MB: memoryMb, DISK_GB: diskGb, ...custom, ...ofImage }
  return Object.fromEntries(Object.entries(all).filter(([, amount]) => amount > 0))
}

const COUNTED: ReadonlySet<string> = new Set(PROVIDED_CLASSES)
