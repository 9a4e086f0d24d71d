import { Failure } from '#common/errors.ts'
import { isUuid } from '#common/ids.ts'
import type { Provider } from './provider.ts'
import type { RequestedAmounts } from './resource-classes.ts'

/** A condition on providers. */
export type ProviderFilter = (provider: Provider) => boolean

/** Room for every amount. */
export function hasRoom(amounts: RequestedAmounts): ProviderFilter {
  return (provider) => [...amounts].every(([name, amount]) => hasRoomFor(provider, name, amount))
}

/** Room for this much of one class, in whole steps and no more than one consumer gets. */
export function hasRoomFor({ inventories }: Provider, name: string, amount: number): boolean {
  const inventory = inventories.get(name)
  if (inventory === undefined || inventory.used + amount > inventory.capacity) return false
  const { minUnit, maxUnit, stepSize } = inventory
  return amount >= minUnit && amount <= maxUnit && amount % stepSize === 0
}

/** Of each `required`: all of its traits, none of those after `!`; after `in:`, one of them. Throws `invalid`. */
export function hasTraits(
  required: readonly string[],
): (provider: Pick<Provider, 'traits'>) => boolean {
  const groups = required.map(traitGroup)
  return ({ traits }) => groups.every((group) => group(new Set(traits)))
}

const TRAIT = /^[A-Z0-9_]{1,255}$/

function traitGroup(text: string): (traits: ReadonlySet<string>) => boolean {
  const isChoice = text.startsWith('in:')
  const names = (isChoice ? text.slice('in:'.length) : text).split(',')
  const bare = names.map((name) => (isChoice ? name : name.replace(/^!/, '')))
  const bad = bare.find((name) => !TRAIT.test(name))
  if (bad !== undefined)
    throw new Failure('invalid', `Invalid query string parameters: '${bad}' is no trait.`)
  if (isChoice) return (traits) => bare.some((name) => traits.has(name))
  return (traits) =>
    names.every((name) => (name.startsWith('!') ? !traits.has(name.slice(1)) : traits.has(name)))
}

/** Of each `member_of`: in one of its aggregates; after `!`, in none of them. Throws `invalid`. */
export function isMember(memberOf: readonly string[]): ProviderFilter {
  const groups = memberOf.map(aggregateGroup)
  return ({ aggregates }) => groups.every((group) => group(new Set(aggregates)))
}

function aggregateGroup(text: string): (aggregates: ReadonlySet<string>) => boolean {
  const isForbidden = text.startsWith('!')
  const ids = text.replace(/^!/, '').replace(/^in:/, '').split(',')
  const bad = ids.find((id) => !isUuid(id))
  if (bad !== undefined)
    throw new Failure('invalid', `Invalid query string parameters: '${bad}' is not a UUID.`)
  return (aggregates) => ids.some((id) => aggregates.has(id)) !== isForbidden
}

/** Throws `invalid`. */
export function isProvider(id: string): ProviderFilter {
  checkUuid(id)
  return (provider) => provider.id === id
}

/** The trees that one has a provider of this id in; all where none is named. Throws `invalid`. */
export function treesWith<T extends readonly Provider[]>(
  trees: readonly T[],
  id: string | undefined,
): readonly T[] {
  if (id === undefined) return trees
  checkUuid(id)
  return trees.filter((tree) => tree.some((provider) => provider.id === id))
}

function checkUuid(id: string): void {
  if (!isUuid(id))
    throw new Failure('invalid', `Invalid query string parameters: '${id}' is not a UUID.`)
}
