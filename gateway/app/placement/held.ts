import type { Consumer } from '../../db/allocations.ts'
import { spread } from './numa-nodes.ts'
import type { Provider, ProviderTree } from './provider.ts'
import type { Amounts } from './resource-classes.ts'

type Held = ReadonlyMap<Provider, Amounts>

/** What a consumer takes of a host altogether. */
type TakenBy = (consumer: Consumer) => Amounts

/**
 * What each of the consumers of a host holds of its parts, which come in the order of their ids. Each class is held of the part
 * that has it; where NUMA nodes have it, of those that its cell has chosen for the server, and else of the first ones that
 * have room beside what others hold of them.
 */
export function heldOfEach(
  consumers: readonly Consumer[],
  tree: ProviderTree,
  takenBy: TakenBy,
): ReadonlyMap<Consumer, Held> {
  const all = consumers.map((consumer) => ({ consumer, taken: takenBy(consumer) }))
  const held = new Map(consumers.map((each) => [each, new Map<Provider, Record<string, number>>()]))
  const add = (consumer: Consumer, provider: Provider, name: string, amount: number) => {
    if (amount === 0) return
    const by = held.get(consumer)!
    by.set(provider, { ...by.get(provider), [name]: (by.get(provider)?.[name] ?? 0) + amount })
  }
  for (const name of new Set(all.flatMap(({ taken }) => Object.keys(taken)))) {
    const [first = tree[0], ...more] = tree.filter(({ inventories }) => inventories.has(name))
    const nodes = [first, ...more]
    const room = roomBeside(consumers, nodes, name)
    for (const { consumer, taken } of all) {
      const chosen = nodes.map((node) => chosenOf(consumer, node, name))
      const rest = chosen.reduce((left, amount) => left - amount, taken[name] ?? 0)
      const others = spread(rest, room)
      for (const [place, node] of nodes.entries())
        add(consumer, node, name, chosen[place]! + others[place]!)
    }
  }
  return held
}

function roomBeside(
  consumers: readonly Consumer[],
  nodes: readonly Provider[],
  name: string,
): number[] {
  return nodes.map((node) =>
    consumers.reduce(
      (left, consumer) => left - chosenOf(consumer, node, name),
      node.inventories.get(name)?.capacity ?? 0,
    ),
  )
}

function chosenOf({ numa }: Consumer, { numaNode }: Provider, name: string): number {
  return numaNode === undefined ? 0 : (numa?.resources[numaNode]?.[name] ?? 0)
}
